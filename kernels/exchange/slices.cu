#include "kernels/exchange/slices.cuh"
#include "kernels/memory/persistent_grid.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kSliceThreads = 256;

/// A thread a shard.
__global__ void slices_wanted_kernel(const std::uint32_t* offsets, std::uint32_t parts, std::uint32_t bins,
                                     std::uint32_t bins_per_shard, std::uint32_t shards,
                                     std::uint32_t* wanted) {
  const std::uint32_t shard = blockIdx.x * blockDim.x + threadIdx.x;
  if (shard >= shards) return;
  std::uint32_t most = 0;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const std::uint32_t* const of_part = offsets + std::size_t{part} * (bins + 1);
    const std::uint64_t words = of_part[bins] - of_part[0];
    const std::uint32_t end = of_part[(shard + 1) * bins_per_shard] - of_part[0];
    while (slice_begin(words, most) < end) ++most;
  }
  wanted[shard] = most;
}

}  // namespace

template <int Words>
std::vector<std::uint32_t> slices_wanted(const Segment<Words>& segment, std::uint32_t bins_per_shard,
                                         cudaStream_t stream) {
  const std::uint32_t shards = segment.bins / bins_per_shard;
  const DeviceArray<std::uint32_t> on_device(shards);
  slices_wanted_kernel<<<blocks_of(shards, kSliceThreads), kSliceThreads, 0, DriverLock::Shared(stream)>>>(
      segment.offsets.data(), static_cast<std::uint32_t>(segment.parts.size()), segment.bins, bins_per_shard,
      shards, on_device.data());
  check_launch("asking what is on its way");
  std::vector<std::uint32_t> wanted(shards);
  copy_to_host(wanted.data(), on_device.data(), shards, stream);
  check(cudaStreamSynchronize(stream), "asking what is on its way");
  return wanted;
}

template std::vector<std::uint32_t> slices_wanted(const Segment<2>&, std::uint32_t, cudaStream_t);
template std::vector<std::uint32_t> slices_wanted(const Segment<4>&, std::uint32_t, cudaStream_t);

}  // namespace warpmer::gpu
