#include "kernels/session/chunk_pipeline.cuh"

namespace warpmer::gpu {

namespace {

__global__ void add_tallies_kernel(unsigned long long* sums, const unsigned long long* tallies,
                                   std::uint32_t n) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sums[i] += tallies[i];
}

__global__ void sum_tallies_kernel(unsigned long long* sum, const unsigned long long* tallies,
                                   std::uint32_t n) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && tallies[i] > 0) atomicAdd(sum, tallies[i]);
}

constexpr std::uint32_t kTallyThreads = 256;

constexpr std::uint32_t blocks_for_tallies(std::uint32_t n) {
  return (n + kTallyThreads - 1) / kTallyThreads;
}

}  // namespace

void launch_add_tallies(unsigned long long* sums, const unsigned long long* tallies, std::uint32_t n,
                        cudaStream_t stream) {
  add_tallies_kernel<<<blocks_for_tallies(n), kTallyThreads, 0, DriverLock::Shared(stream)>>>(sums, tallies,
                                                                                              n);
  check_launch("adding up counts");
}

void launch_sum_tallies(unsigned long long* sum, const unsigned long long* tallies, std::uint32_t n,
                        cudaStream_t stream) {
  sum_tallies_kernel<<<blocks_for_tallies(n), kTallyThreads, 0, DriverLock::Shared(stream)>>>(sum, tallies,
                                                                                              n);
  check_launch("adding up counts");
}

}  // namespace warpmer::gpu
