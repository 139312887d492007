#include "tiles/tile_ops_cuda.cuh"

namespace warpmer::tests {
namespace {
/// Buckets as the papers have them, each loaded by lanes of one, and of several slots.
constexpr SchemeOnTile<table::Key32> kWordBuckets[] = {
    WARPMER_CUDA_WORD_TILE(Bcht, 16, 1),           WARPMER_CUDA_WORD_TILE(Bcht, 4, 4),
    WARPMER_CUDA_WORD_TILE(MegaKv, 8, 1),          WARPMER_CUDA_WORD_TILE(MegaKv, 4, 2),
    WARPMER_CUDA_WORD_TILE(MegaKv, 1, 8),          WARPMER_CUDA_WORD_TILE(OneSlotCuckoo, 1, 1),
    WARPMER_CUDA_WORD_TILE(IcebergBuckets, 16, 1), WARPMER_CUDA_WORD_TILE(IcebergBuckets, 4, 4),
    WARPMER_CUDA_WORD_TILE(IcebergBuckets, 32, 1), WARPMER_CUDA_WORD_TILE(IcebergBuckets, 8, 4),
};
}  // namespace
const SchemesOnTiles<table::Key32> kCudaWordBuckets{kWordBuckets, sizeof kWordBuckets / sizeof *kWordBuckets};
}  // namespace warpmer::tests
