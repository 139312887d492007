// Counting bins in WarpDrive tables.

#include "kernels/count/bin_counter.cuh"

namespace warpmer::gpu {

const CountKernels kCountWarpDrive = kCountKernels<BlockWindows>;

}  // namespace warpmer::gpu
