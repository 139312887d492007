#pragma once
/// Launches kernels of the experiments that do something for every number.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/persistent_grid.cuh"

namespace warpmer::bench {

inline constexpr unsigned kNumberThreads = 256;

template <class Work>
__global__ void __launch_bounds__(kNumberThreads) for_each_number_kernel(std::size_t size, Work work) {
  const std::size_t stride = std::size_t{gridDim.x} * kNumberThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kNumberThreads + threadIdx.x; i < size; i += stride) work(i);
}

/// Calls `work(i)` on the current device for all i below `size`: a device lambda, or an object with a device
/// operator().
template <class Work>
void for_each_number(const char* doing, std::size_t size, const Work& work, cudaStream_t stream) {
  const std::uint32_t grid = gpu::persistent_grid(for_each_number_kernel<Work>, kNumberThreads, 0);
  for_each_number_kernel<<<grid, kNumberThreads, 0, stream>>>(size, work);
  gpu::check_launch(doing);
}

/// Returns the middle one of the values; there must be at least one.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace warpmer::bench
