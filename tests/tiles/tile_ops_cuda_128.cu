#include "tiles/tile_ops_cuda.cuh"

namespace warpmer::tests {
const SchemesOnTiles<Key128> kCudaTiles128{kCudaTiles<Key128>,
                                           sizeof kCudaTiles<Key128> / sizeof *kCudaTiles<Key128>};
}  // namespace warpmer::tests
