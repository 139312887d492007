#pragma once
/// Slices that have been brought back become one segment: the words of each list together.

#include <cstdint>

#include "kernels/memory/host_fence.cuh"
#include "kernels/spill/spilled_segments.cuh"

namespace warpmer::gpu {

/// With what it takes to merge so many slices of so many lists in all: on the current device.
template <int Words>
class SliceMerge {
 public:
  /// `most_list_slices`: lists times slices; more does not matter.
  SliceMerge(std::uint32_t most_slices, std::uint32_t most_lists, std::uint64_t most_list_slices);

  /// Device memory beside `lists` + 1 offsets of the segment, for each list of each slice.
  static constexpr std::uint64_t kListSliceBytes = sizeof(std::uint32_t);

  /// Enqueues the merge, in the same stream as those before. The segment's arrays are large enough, and
  /// `kmers` is not filled. `slices` may be changed when this returns, but for their arrays on the device.
  /// Waits until the merge before has begun: until then it may have to read what it was told.
  void merge(const Slices<Words>& slices, Segment<Words>& to, cudaStream_t stream);

 private:
  DeviceArray<std::uint32_t> begins_;       ///< of slices
  PinnedArray<std::uint32_t> host_begins_;  ///< on their way there
  HostFence begins_copied_;
  DeviceArray<std::uint32_t> sizes_;   ///< of lists, and 0
  DeviceArray<std::uint32_t> before_;  ///< words of a list in the slices before, for each slice
  DeviceArray<char> scan_scratch_;
};

}  // namespace warpmer::gpu
