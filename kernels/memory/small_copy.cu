#include "kernels/memory/persistent_grid.cuh"
#include "kernels/memory/small_copy.cuh"

namespace warpmer::gpu {

namespace {

__global__ void copy_small_kernel(std::uint32_t* to, const std::uint32_t* from, std::size_t words) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < words) to[i] = from[i];
}

}  // namespace

void launch_small_copy(std::uint32_t* to, const std::uint32_t* from, std::size_t words, cudaStream_t stream) {
  constexpr std::size_t kThreads = 256;
  if (words == 0) return;
  const std::uint32_t blocks = blocks_of(words, kThreads);
  copy_small_kernel<<<blocks, kThreads, 0, DriverLock::Shared(stream)>>>(to, from, words);
  check_launch("copying a few bytes");
}

}  // namespace warpmer::gpu
