#include "table/tile_avx2.h"
#include "tiles/schemes.h"

namespace warpmer {
namespace {
#include "tiles/tile_ops_body.h"

constexpr tests::SchemeOnTile<Key64> kTiles[] = {
    OnTile<tests::OrderedWarpDrive<table::Avx2Tile<4>>>::describe("avx2"),
    OnTile<tests::OrderedWarpDrive<table::Avx2Tile<8>>>::describe("avx2"),
    OnTile<tests::OrderedWarpDrive<table::Avx2Tile<16>>>::describe("avx2"),
    OnTile<tests::OrderedWarpDrive<table::Avx2Tile<32>>>::describe("avx2"),
    OnTile<tests::HashedWarpDrive<table::Avx2Tile<8>>>::describe("avx2"),
    OnTile<tests::HashedWarpDrive<table::Avx2Tile<32>>>::describe("avx2"),
    OnTile<tests::Bcht<table::Avx2Tile<16>>>::describe("avx2"),
    OnTile<tests::MegaKv<table::Avx2Tile<8>>>::describe("avx2"),
    OnTile<tests::IcebergBuckets<table::Avx2Tile<16>>>::describe("avx2"),
    OnTile<tests::IcebergBuckets<table::Avx2Tile<32>>>::describe("avx2"),
    OnTile<tests::SlabBuckets<table::Avx2Tile<12>>>::describe("avx2"),
};
}  // namespace

namespace tests {
const SchemesOnTiles<Key64> kAvx2Tiles{kTiles, sizeof kTiles / sizeof *kTiles};
}  // namespace tests
}  // namespace warpmer
