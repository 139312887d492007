#include "tiles/tile_ops_cuda.cuh"

namespace warpmer::tests {
namespace {
/// Buckets as the papers have them, each loaded by lanes of one, and of several slots.
constexpr SchemeOnTile<Key64> kBuckets64[] = {
    WARPMER_CUDA_TILE(Bcht, Key64, 16, 1),
    WARPMER_CUDA_TILE(Bcht, Key64, 8, 2),
    WARPMER_CUDA_TILE(Bcht, Key64, 4, 4),
    WARPMER_CUDA_TILE(MegaKv, Key64, 8, 1),
    WARPMER_CUDA_TILE(MegaKv, Key64, 4, 2),
    WARPMER_CUDA_TILE(OneSlotCuckoo, Key64, 1, 1),
    WARPMER_CUDA_TILE(IcebergBuckets, Key64, 16, 1),
    WARPMER_CUDA_TILE(IcebergBuckets, Key64, 4, 4),
    WARPMER_CUDA_TILE(IcebergBuckets, Key64, 32, 1),
    WARPMER_CUDA_TILE(IcebergBuckets, Key64, 8, 4),
    WARPMER_CUDA_GLOBAL_TILE(SlabBuckets, Key64, 16, 1),
    WARPMER_CUDA_GLOBAL_TILE(SlabBuckets, Key64, 8, 2),
    WARPMER_CUDA_GLOBAL_TILE(SlabBuckets, Key64, 4, 4),
    WARPMER_CUDA_GLOBAL_TILE(SlabBuckets, Key64, 1, 10),
    // Those of live tables, keys and counts at once.
    WARPMER_CUDA_BLOCK_TILE(Key64, 2),
    WARPMER_CUDA_BLOCK_TILE(Key64, 4),
};
}  // namespace
const SchemesOnTiles<Key64> kCudaBuckets64{kBuckets64, sizeof kBuckets64 / sizeof *kBuckets64};
}  // namespace warpmer::tests
