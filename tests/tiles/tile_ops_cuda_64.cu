#include "tiles/tile_ops_cuda.cuh"

namespace warpmer::tests {
namespace {
constexpr SchemeOnTile<Key64> kTiles64[] = {
    WARPMER_CUDA_TILE(OrderedWarpDrive, Key64, 1, 1),  WARPMER_CUDA_TILE(OrderedWarpDrive, Key64, 1, 2),
    WARPMER_CUDA_TILE(OrderedWarpDrive, Key64, 1, 4),  WARPMER_CUDA_TILE(OrderedWarpDrive, Key64, 2, 1),
    WARPMER_CUDA_TILE(OrderedWarpDrive, Key64, 2, 2),  WARPMER_CUDA_TILE(OrderedWarpDrive, Key64, 2, 4),
    WARPMER_CUDA_TILE(OrderedWarpDrive, Key64, 4, 1),  WARPMER_CUDA_TILE(OrderedWarpDrive, Key64, 4, 2),
    WARPMER_CUDA_TILE(OrderedWarpDrive, Key64, 4, 4),  WARPMER_CUDA_TILE(OrderedWarpDrive, Key64, 8, 1),
    WARPMER_CUDA_TILE(OrderedWarpDrive, Key64, 8, 2),  WARPMER_CUDA_TILE(OrderedWarpDrive, Key64, 8, 4),
    WARPMER_CUDA_TILE(OrderedWarpDrive, Key64, 16, 1), WARPMER_CUDA_TILE(OrderedWarpDrive, Key64, 16, 2),
    WARPMER_CUDA_TILE(OrderedWarpDrive, Key64, 32, 1), WARPMER_CUDA_TILE(HashedWarpDrive, Key64, 1, 1),
    WARPMER_CUDA_TILE(HashedWarpDrive, Key64, 1, 4),   WARPMER_CUDA_TILE(HashedWarpDrive, Key64, 8, 1),
    WARPMER_CUDA_TILE(HashedWarpDrive, Key64, 4, 4),   WARPMER_CUDA_TILE(HashedWarpDrive, Key64, 32, 1),
};
}  // namespace
const SchemesOnTiles<Key64> kCudaTiles64{kTiles64, sizeof kTiles64 / sizeof *kTiles64};
}  // namespace warpmer::tests
