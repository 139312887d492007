#include <cub/device/device_radix_sort.cuh>

#include "kernels/memory/cuda_error.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "tables/gpu/gpu_split.cuh"

namespace warpmer::bench {
namespace {

constexpr unsigned kThreads = 256;

__global__ void fill_kernel(std::uint64_t* words, std::size_t size, std::uint64_t word) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < size; i += stride)
    words[i] = word;
}

}  // namespace

Splitter::Splitter(std::size_t size) : size_(size), parts_(size), ordered_parts_(size), ordered_(size) {
  std::size_t bytes = 0;
  const auto number = static_cast<long long>(size_);
  gpu::check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, parts_.data(), ordered_parts_.data(),
                                             static_cast<const std::uint64_t*>(nullptr), ordered_.data(),
                                             number, 0, 8),
             "planning a split");
  scratch_.reserve(bytes);
}

const std::uint64_t* Splitter::split(const std::uint64_t* pairs) {
  std::size_t bytes = scratch_.size();
  gpu::check(cub::DeviceRadixSort::SortPairs(scratch_.data(), bytes, parts_.data(), ordered_parts_.data(),
                                             pairs, ordered_.data(), static_cast<long long>(size_), 0, 8),
             "splitting pairs");
  return ordered_.data();
}

void fill_words(std::uint64_t* words, std::size_t size, std::uint64_t word) {
  fill_kernel<<<gpu::persistent_grid(fill_kernel, kThreads, 0), kThreads>>>(words, size, word);
  gpu::check_launch("emptying a table");
}

}  // namespace warpmer::bench
