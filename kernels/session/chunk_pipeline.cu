#include "kernels/memory/persistent_grid.cuh"
#include "kernels/session/chunk_pipeline.cuh"

namespace warpmer::gpu {

namespace {

__global__ void add_tallies_kernel(unsigned long long* sums, const unsigned long long* tallies,
                                   std::uint32_t n) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sums[i] += tallies[i];
}

}  // namespace

void launch_add_tallies(unsigned long long* sums, const unsigned long long* tallies, std::uint32_t n,
                        cudaStream_t stream) {
  constexpr std::uint32_t kThreads = 256;
  add_tallies_kernel<<<blocks_of(n, kThreads), kThreads, 0, DriverLock::Shared(stream)>>>(sums, tallies, n);
  check_launch("adding up counts");
}

}  // namespace warpmer::gpu
