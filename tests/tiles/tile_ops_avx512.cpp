#include "table/tile_avx512.h"
#include "tiles/schemes.h"

namespace warpmer {
namespace {
#include "tiles/tile_ops_body.h"

constexpr tests::SchemeOnTile<Key64> kTiles[] = {
    OnTile<tests::OrderedWarpDrive<table::Avx512Tile<8>>>::describe("avx512"),
    OnTile<tests::OrderedWarpDrive<table::Avx512Tile<16>>>::describe("avx512"),
    OnTile<tests::OrderedWarpDrive<table::Avx512Tile<32>>>::describe("avx512"),
    OnTile<tests::HashedWarpDrive<table::Avx512Tile<8>>>::describe("avx512"),
    OnTile<tests::HashedWarpDrive<table::Avx512Tile<32>>>::describe("avx512"),
    OnTile<tests::Bcht<table::Avx512Tile<16>>>::describe("avx512"),
    OnTile<tests::MegaKv<table::Avx512Tile<8>>>::describe("avx512"),
    OnTile<tests::IcebergBuckets<table::Avx512Tile<16>>>::describe("avx512"),
    OnTile<tests::IcebergBuckets<table::Avx512Tile<32>>>::describe("avx512"),
    OnTile<tests::SlabBuckets<table::Avx512Tile<16>>>::describe("avx512"),
};
}  // namespace

namespace tests {
const SchemesOnTiles<Key64> kAvx512Tiles{kTiles, sizeof kTiles / sizeof *kTiles};
}  // namespace tests
}  // namespace warpmer
