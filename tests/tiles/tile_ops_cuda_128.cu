#include "tiles/tile_ops_cuda.cuh"

namespace warpmer::tests {
namespace {
constexpr SchemeOnTile<Key128> kTiles128[] = {
    WARPMER_CUDA_TILE(OrderedWarpDrive, Key128, 1, 1),  WARPMER_CUDA_TILE(OrderedWarpDrive, Key128, 1, 2),
    WARPMER_CUDA_TILE(OrderedWarpDrive, Key128, 1, 4),  WARPMER_CUDA_TILE(OrderedWarpDrive, Key128, 2, 1),
    WARPMER_CUDA_TILE(OrderedWarpDrive, Key128, 2, 2),  WARPMER_CUDA_TILE(OrderedWarpDrive, Key128, 2, 4),
    WARPMER_CUDA_TILE(OrderedWarpDrive, Key128, 4, 1),  WARPMER_CUDA_TILE(OrderedWarpDrive, Key128, 4, 2),
    WARPMER_CUDA_TILE(OrderedWarpDrive, Key128, 4, 4),  WARPMER_CUDA_TILE(OrderedWarpDrive, Key128, 8, 1),
    WARPMER_CUDA_TILE(OrderedWarpDrive, Key128, 8, 2),  WARPMER_CUDA_TILE(OrderedWarpDrive, Key128, 8, 4),
    WARPMER_CUDA_TILE(OrderedWarpDrive, Key128, 16, 1), WARPMER_CUDA_TILE(OrderedWarpDrive, Key128, 16, 2),
    WARPMER_CUDA_TILE(OrderedWarpDrive, Key128, 32, 1), WARPMER_CUDA_TILE(HashedWarpDrive, Key128, 1, 4),
    WARPMER_CUDA_TILE(HashedWarpDrive, Key128, 8, 1),
};
}  // namespace
const SchemesOnTiles<Key128> kCudaTiles128{kTiles128, sizeof kTiles128 / sizeof *kTiles128};
}  // namespace warpmer::tests
