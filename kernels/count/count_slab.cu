// Counting lists in slab hashes.

#include "kernels/count/list_counter.cuh"
#include "kernels/count/shared_slabs.cuh"

namespace warpmer::gpu {

const CountKernels kCountSlab = kCountKernels<SharedSlabs>;

}  // namespace warpmer::gpu
