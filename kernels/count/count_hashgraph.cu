// Counting bins in HashGraphs.

#include "kernels/count/bin_counter.cuh"
#include "kernels/count/block_hash_graph.cuh"

namespace warpmer::gpu {

const CountKernels kCountHashGraph = kCountKernels<BlockHashGraph>;

}  // namespace warpmer::gpu
