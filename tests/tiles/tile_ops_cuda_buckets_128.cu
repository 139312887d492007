#include "tiles/tile_ops_cuda.cuh"

namespace warpmer::tests {
namespace {
/// Buckets as the papers have them, each loaded by lanes of one, and of several slots.
constexpr SchemeOnTile<Key128> kBuckets128[] = {
    WARPMER_CUDA_TILE(Bcht, Key128, 16, 1),
    WARPMER_CUDA_TILE(Bcht, Key128, 4, 4),
    WARPMER_CUDA_TILE(MegaKv, Key128, 8, 1),
    WARPMER_CUDA_TILE(OneSlotCuckoo, Key128, 1, 1),
    WARPMER_CUDA_TILE(IcebergBuckets, Key128, 16, 1),
    WARPMER_CUDA_TILE(IcebergBuckets, Key128, 8, 4),
    WARPMER_CUDA_GLOBAL_TILE(SlabBuckets, Key128, 8, 1),
    WARPMER_CUDA_GLOBAL_TILE(SlabBuckets, Key128, 2, 3),
    // Those of live tables, keys and counts at once.
    WARPMER_CUDA_BLOCK_TILE(Key128, 2),
    WARPMER_CUDA_BLOCK_TILE(Key128, 4),
};
}  // namespace
const SchemesOnTiles<Key128> kCudaBuckets128{kBuckets128, sizeof kBuckets128 / sizeof *kBuckets128};
}  // namespace warpmer::tests
