// Counting lists in WarpDrive tables.

#include "kernels/count/list_counter.cuh"

namespace warpmer::gpu {

const CountKernels kCountWarpDrive = kCountKernels<SharedWindows>;

}  // namespace warpmer::gpu
