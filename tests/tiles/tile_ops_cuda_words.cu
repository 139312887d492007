#include "tiles/tile_ops_cuda.cuh"

namespace warpmer::tests {
namespace {
constexpr SchemeOnTile<table::Key32> kTilesOfWords[] = {
    WARPMER_CUDA_WORD_TILE(OrderedWarpDrive, 1, 4),   WARPMER_CUDA_WORD_TILE(OrderedWarpDrive, 8, 1),
    WARPMER_CUDA_WORD_TILE(HashedWarpDrive, 1, 1),    WARPMER_CUDA_WORD_TILE(HashedWarpDrive, 2, 1),
    WARPMER_CUDA_WORD_TILE(HashedWarpDrive, 4, 1),    WARPMER_CUDA_WORD_TILE(HashedWarpDrive, 8, 1),
    WARPMER_CUDA_WORD_TILE(HashedWarpDrive, 16, 1),   WARPMER_CUDA_WORD_TILE(HashedWarpDrive, 32, 1),
    WARPMER_CUDA_WORD_TILE(HashedWarpDrive, 1, 4),    WARPMER_CUDA_WORD_TILE(HashedWarpDrive, 1, 8),
    WARPMER_CUDA_WORD_TILE(HashedWarpDrive, 2, 4),    WARPMER_CUDA_WORD_TILE(ScatteredWarpDrive, 1, 1),
    WARPMER_CUDA_WORD_TILE(ScatteredWarpDrive, 4, 1), WARPMER_CUDA_WORD_TILE(ScatteredWarpDrive, 32, 1),
    WARPMER_CUDA_WORD_TILE(ScatteredWarpDrive, 1, 4),
};
}  // namespace
const SchemesOnTiles<table::Key32> kCudaWordTiles{kTilesOfWords,
                                                  sizeof kTilesOfWords / sizeof *kTilesOfWords};
}  // namespace warpmer::tests
