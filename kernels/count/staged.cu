#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_scan.cuh>

#include "kernels/count/staged.cuh"
#include "kernels/memory/persistent_grid.cuh"

namespace warpmer::gpu {

namespace {

/// The number of words of a bin, from its packed numbers.
struct WordsOf {
  __host__ __device__ std::uint32_t operator()(unsigned long long both) const {
    return static_cast<std::uint32_t>(both);
  }
};

constexpr std::uint32_t kStagedThreads = 256;

/// The blocks that have each region.
struct RegionBlocks {
  std::uint32_t ends[kRegions];
};

template <int Words>
__global__ void place_words_kernel(Staging<Words> staging, const __grid_constant__ RegionBlocks blocks,
                                   const std::uint32_t* offsets, SuperKmer<Words>* out) {
  std::uint32_t region = 0;
  while (blocks.ends[region] <= blockIdx.x) ++region;
  const std::uint32_t first_block = region == 0 ? 0 : blocks.ends[region - 1];
  const std::uint32_t number = (blockIdx.x - first_block) * kStagedThreads + threadIdx.x;
  if (number >= min(staging.sizes[region], staging.region_capacity)) return;
  const std::uint32_t i = region * staging.region_capacity + number;
  const uint2 place = __ldcs(reinterpret_cast<const uint2*>(staging.places) + i);
  if (place.x == kNoBin) return;
  const auto* from = reinterpret_cast<const uint4*>(staging.words + i);
  auto* to = reinterpret_cast<uint4*>(out + offsets[place.x] + place.y);
#pragma unroll
  for (int w = 0; w < Words / 2; ++w) to[w] = __ldcs(from + w);
}

/// Moves the k-mers of the bins to the segment just split, and makes ready for the next.
__global__ void take_bins_kernel(unsigned long long* bins, std::uint32_t* kmers, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  kmers[i] = static_cast<std::uint32_t>(bins[i] >> 32);
  bins[i] = 0;
}

}  // namespace

template <int Words>
StagedWords<Words>::StagedWords(std::uint32_t bin_bits, std::uint32_t staging_words, cudaStream_t stream)
    : stream_(stream),
      region_capacity_(std::max(staging_words / kRegions, kTileStarts)),
      staged_words_(std::size_t{kRegions} * region_capacity_),
      places_(std::size_t{kRegions} * region_capacity_),
      sizes_(kRegions),
      bins_((std::size_t{1} << bin_bits) + 1) {  // one more, empty, for the end of the scan
  fill_bytes(sizes_.data(), 0, kRegions, stream);
  fill_bytes(bins_.data(), 0, bins_.size(), stream);
  std::size_t scratch = 0;
  // That looks at the kernel, which may load it.
  check(cub::DeviceScan::ExclusiveSum(
            nullptr, scratch, thrust::make_transform_iterator(bins_.data(), WordsOf{}),
            static_cast<std::uint32_t*>(nullptr), static_cast<int>(bins_.size()), DriverLock::Shared(stream)),
        "planning a scan");
  scan_scratch_ = DeviceArray<char>(scratch);
}

template <int Words>
std::array<std::uint32_t, kRegions> StagedWords<Words>::staged() const {
  std::array<std::uint32_t, kRegions> sizes{};
  copy_to_host(sizes.data(), sizes_.data(), kRegions, stream_);
  check(cudaStreamSynchronize(stream_), "cutting reads");
  for (std::uint32_t& size : sizes) size = std::min(size, region_capacity_);
  return sizes;
}

template <int Words>
Segment<Words> StagedWords<Words>::split() {
  RegionBlocks blocks{};
  std::uint32_t size = 0, end_of_blocks = 0, region = 0;
  for (const std::uint32_t in_region : staged()) {
    size += in_region;
    blocks.ends[region++] = end_of_blocks += blocks_of(in_region, kStagedThreads);
  }
  if (size == 0) return {};
  const auto bins = static_cast<std::uint32_t>(bins_.size() - 1);
  Segment<Words> segment(size, 0, bins, 1);
  std::size_t scratch = scan_scratch_.size();
  check(cub::DeviceScan::ExclusiveSum(
            scan_scratch_.data(), scratch, thrust::make_transform_iterator(bins_.data(), WordsOf{}),
            segment.offsets.data(), static_cast<int>(bins_.size()), DriverLock::Shared(stream_)),
        "splitting super-k-mers");
  place_words_kernel<Words><<<end_of_blocks, kStagedThreads, 0, DriverLock::Shared(stream_)>>>(
      staging(), blocks, segment.offsets.data(), segment.words.data());
  check_launch("splitting super-k-mers");
  take_bins_kernel<<<blocks_of(bins, kStagedThreads), kStagedThreads, 0, DriverLock::Shared(stream_)>>>(
      bins_.data(), segment.kmers.data(), bins);
  check_launch("splitting super-k-mers");
  fill_bytes(sizes_.data(), 0, kRegions, stream_);
  return segment;
}

template class StagedWords<2>;
template class StagedWords<4>;

}  // namespace warpmer::gpu
