#include <algorithm>
#include <cub/device/device_scan.cuh>

#include "kernels/memory/persistent_grid.cuh"
#include "kernels/memory/small_copy.cuh"
#include "kernels/spill/slice_merge.cuh"
#include "kernels/warps/sorted_search.cuh"
#include "kernels/warps/warp_scan.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kMergeThreads = 256;

/// For each bin, its words in all slices, and in those before each. A warp a bin, and one for the end.
__global__ void add_up_slices_kernel(const std::uint32_t* offsets, std::uint32_t slices, std::uint32_t bins,
                                     std::uint32_t* sizes, std::uint32_t* before) {
  const std::uint32_t bin = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (bin > bins) return;
  std::uint32_t sum = 0;
  for (std::uint32_t first = 0; bin < bins && first < slices; first += 32) {
    const std::uint32_t slice = first + lane;
    const std::uint32_t* const of_slice = offsets + std::size_t{slice} * (bins + 1) + bin;
    const std::uint32_t words = slice < slices ? of_slice[1] - of_slice[0] : 0;
    const std::uint32_t up_to_here = warp_inclusive_sum(words);
    if (slice < slices) before[std::size_t{slice} * bins + bin] = sum + up_to_here - words;
    sum += __shfl_sync(~0u, up_to_here, 31);
  }
  if (lane == 0) sizes[bin] = sum;
}

/// A thread a word.
template <int Words>
__global__ void merge_slices_kernel(const SuperKmer<Words>* words, std::uint32_t word_count,
                                    const std::uint32_t* begins, std::uint32_t slices,
                                    const std::uint32_t* offsets, std::uint32_t bins,
                                    const std::uint32_t* before, const std::uint32_t* to_offsets,
                                    SuperKmer<Words>* to) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= word_count) return;
  const std::uint32_t slice = last_not_above(begins, slices, i);
  const std::uint32_t* const of_slice = offsets + std::size_t{slice} * (bins + 1);
  const std::uint32_t offset = of_slice[0] + (i - begins[slice]);
  const std::uint32_t bin = last_not_above(of_slice, bins, offset);
  const std::uint32_t at =
      to_offsets[bin] + before[std::size_t{slice} * bins + bin] + (offset - of_slice[bin]);
  const auto* from = reinterpret_cast<const uint4*>(words + i);
  auto* there = reinterpret_cast<uint4*>(to + at);
#pragma unroll
  for (int w = 0; w < Words / 2; ++w) there[w] = __ldcs(from + w);
}

}  // namespace

template <int Words>
SliceMerge<Words>::SliceMerge(std::uint32_t most_slices, std::uint32_t most_bins,
                              std::uint64_t most_bin_slices)
    : begins_(most_slices),
      host_begins_(most_slices),
      sizes_(most_bins + std::size_t{1}),
      before_(most_bin_slices) {
  std::size_t scratch = 0;
  // That looks at the kernel, which may load it.
  check(cub::DeviceScan::ExclusiveSum(nullptr, scratch, sizes_.data(), sizes_.data(),
                                      static_cast<int>(sizes_.size()), DriverLock::Shared()),
        "planning a scan");
  scan_scratch_ = DeviceArray<char>(scratch);
}

template <int Words>
void SliceMerge<Words>::merge(const Slices<Words>& slices, Segment<Words>& to, cudaStream_t stream) {
  to.first_bin = slices.first_bin;
  to.bins = slices.bins;
  to.parts.assign(1, {});
  add_up_slices_kernel<<<slices.bins / (kMergeThreads / 32) + 1, kMergeThreads, 0,
                         DriverLock::Shared(stream)>>>(slices.offsets.data(), slices.size(), slices.bins,
                                                       sizes_.data(), before_.data());
  check_launch("merging super-k-mers");
  std::size_t scratch = scan_scratch_.size();
  check(cub::DeviceScan::ExclusiveSum(scan_scratch_.data(), scratch, sizes_.data(), to.offsets.data(),
                                      static_cast<int>(slices.bins + 1), DriverLock::Shared(stream)),
        "merging super-k-mers");
  if (slices.word_count() == 0) return;
  begins_copied_.wait();  // those of the merge before
  std::copy_n(slices.begins.data(), slices.size(), host_begins_.data());
  copy_small(begins_.data(), host_begins_.data(), slices.size(), stream);
  begins_copied_.record(stream);
  merge_slices_kernel<Words>
      <<<blocks_of(slices.word_count(), kMergeThreads), kMergeThreads, 0, DriverLock::Shared(stream)>>>(
          slices.words.data(), slices.word_count(), begins_.data(), slices.size(), slices.offsets.data(),
          slices.bins, before_.data(), to.offsets.data(), to.words.data());
  check_launch("merging super-k-mers");
}

template class SliceMerge<2>;
template class SliceMerge<4>;

}  // namespace warpmer::gpu
