// Counting lists in slab hashes.

#include "list_counter.cuh"
#include "shared_slabs.cuh"

namespace warpmer::gpu {

const CountKernels kCountSlab = kCountKernels<SharedSlabs>;

}  // namespace warpmer::gpu
