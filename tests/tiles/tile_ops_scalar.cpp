#include "table/tile_atomic.h"
#include "table/warpdrive.h"
#include "tiles/tile_ops.h"

namespace warpmer {
namespace {
#include "tiles/tile_ops_body.h"

constexpr tests::SchemeOnTile<Key64> kNarrow[] = {
    OnTile<table::SerialTile<Key64, 1>>::describe("serial"),
    OnTile<table::SerialTile<Key64, 2>>::describe("serial"),
    OnTile<table::SerialTile<Key64, 4>>::describe("serial"),
    OnTile<table::SerialTile<Key64, 8>>::describe("serial"),
    OnTile<table::SerialTile<Key64, 16>>::describe("serial"),
    OnTile<table::SerialTile<Key64, 32>>::describe("serial"),
    OnTile<table::AtomicTile<1>>::describe("atomic"),
    OnTile<table::AtomicTile<2>>::describe("atomic"),
    OnTile<table::AtomicTile<4>>::describe("atomic"),
    OnTile<table::AtomicTile<8>>::describe("atomic"),
    OnTile<table::AtomicTile<16>>::describe("atomic"),
    OnTile<table::AtomicTile<32>>::describe("atomic"),
};
constexpr tests::SchemeOnTile<Key128> kWide[] = {
    OnTile<table::SerialTile<Key128, 1>>::describe("serial"),
    OnTile<table::SerialTile<Key128, 2>>::describe("serial"),
    OnTile<table::SerialTile<Key128, 4>>::describe("serial"),
    OnTile<table::SerialTile<Key128, 8>>::describe("serial"),
    OnTile<table::SerialTile<Key128, 16>>::describe("serial"),
    OnTile<table::SerialTile<Key128, 32>>::describe("serial"),
};
}  // namespace

namespace tests {
const SchemesOnTiles<Key64> kScalarTiles64{kNarrow, sizeof kNarrow / sizeof *kNarrow};
const SchemesOnTiles<Key128> kScalarTiles128{kWide, sizeof kWide / sizeof *kWide};
}  // namespace tests
}  // namespace warpmer
