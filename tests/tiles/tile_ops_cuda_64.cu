#include "tiles/tile_ops_cuda.cuh"

namespace warpmer::tests {
const SchemesOnTiles<Key64> kCudaTiles64{kCudaTiles<Key64>,
                                         sizeof kCudaTiles<Key64> / sizeof *kCudaTiles<Key64>};
}  // namespace warpmer::tests
