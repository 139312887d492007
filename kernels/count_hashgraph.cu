// Counting lists in HashGraphs.

#include "list_counter.cuh"
#include "shared_hash_graph.cuh"

namespace warpmer::gpu {

const CountKernels kCountHashGraph = kCountKernels<SharedHashGraph>;

}  // namespace warpmer::gpu
