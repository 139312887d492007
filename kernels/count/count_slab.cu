// Counting bins in slab hashes.

#include "kernels/count/bin_counter.cuh"
#include "kernels/count/block_slabs.cuh"

namespace warpmer::gpu {

const CountKernels kCountSlab = kCountKernels<BlockSlabs>;

}  // namespace warpmer::gpu
