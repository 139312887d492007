#pragma once
/// Merges slices that have been brought back into one segment, which has the words of each bin together.

#include <cstdint>

#include "kernels/memory/host_fence.cuh"
#include "kernels/spill/spilled_segments.cuh"

namespace warpmer::gpu {

/// Holds the memory, on the current device, that merging so many slices of so many bins takes.
template <int Words>
class SliceMerge {
 public:
  /// `most_bin_slices` is the largest product of bins and slices; it may be larger.
  SliceMerge(std::uint32_t most_slices, std::uint32_t most_bins, std::uint64_t most_bin_slices);

  /// Device memory beside `bins` + 1 offsets of the segment, for each bin of each slice.
  static constexpr std::uint64_t kBinSliceBytes = sizeof(std::uint32_t);

  /// Enqueues the merge, in the same stream as those before. The segment's arrays must be large enough;
  /// `kmers` is not filled. When this returns, `slices` may be changed, except for their arrays on the
  /// device. Waits until the merge before has begun: until then it may have to read its arguments.
  void merge(const Slices<Words>& slices, Segment<Words>& to, cudaStream_t stream);

 private:
  DeviceArray<std::uint32_t> begins_;       ///< begins of slices
  PinnedArray<std::uint32_t> host_begins_;  ///< on their way there
  HostFence begins_copied_;
  DeviceArray<std::uint32_t> sizes_;   ///< sizes of bins, and 0
  DeviceArray<std::uint32_t> before_;  ///< for each slice, the number of words of a bin in the slices before
  DeviceArray<char> scan_scratch_;
};

}  // namespace warpmer::gpu
