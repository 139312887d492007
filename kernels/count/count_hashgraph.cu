// Counting lists in HashGraphs.

#include "kernels/count/list_counter.cuh"
#include "kernels/count/shared_hash_graph.cuh"

namespace warpmer::gpu {

const CountKernels kCountHashGraph = kCountKernels<SharedHashGraph>;

}  // namespace warpmer::gpu
