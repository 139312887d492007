// Counting bins in WarpDrive tables.

#include "kernels/count/bin_counter.cuh"

namespace warpmer::gpu {

const CountKernels kCount_warpdrive = kCountKernels<BlockWindows>;

}  // namespace warpmer::gpu
