#pragma once
/// Sums across a warp. All 32 lanes take part.

#include <cstdint>

namespace warpmer::gpu {

/// Returns the sum of the values of this lane and of the lanes before it.
__device__ inline std::uint32_t warp_inclusive_sum(std::uint32_t mine) {
  const std::uint32_t lane = threadIdx.x % 32;
  std::uint32_t sum = mine;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const std::uint32_t other = __shfl_up_sync(~0u, sum, step);
    if (lane >= step) sum += other;
  }
  return sum;
}

}  // namespace warpmer::gpu
