#pragma once
/// Sums across a warp, or a block. All its threads take part.

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

/// Returns the sum of the values of all lower threads of the block, and in `total` that of all threads.
/// `warp_sums` belongs to the block, and is free again after a barrier.
template <std::uint32_t kWarps>
__device__ std::uint32_t block_sum_before(std::uint32_t (&warp_sums)[kWarps], std::uint32_t mine,
                                          std::uint32_t& total) {
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t sum = warp_inclusive_sum(mine);
  if (lane == 31) warp_sums[warp] = sum;
  __syncthreads();
  std::uint32_t before = 0;
  total = 0;
#pragma unroll
  for (std::uint32_t w = 0; w < kWarps; ++w) {
    if (w < warp) before += warp_sums[w];
    total += warp_sums[w];
  }
  return before + sum - mine;
}

}  // namespace warpmer::gpu
