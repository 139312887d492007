#pragma once
/// Brings spilled segments back, group of shards after group; each group is one segment, which is counted
/// beside the words that have stayed on the device.

#include <cstdint>
#include <vector>

#include "kernels/count/pending.cuh"
#include "kernels/memory/host_fence.cuh"
#include "kernels/spill/slice_merge.cuh"
#include "kernels/spill/spilled_segments.cuh"

namespace warpmer::gpu {

/// Some consecutive shards, or a part of the words of one shard that is too large to come back at once.
struct ShardGroup {
  std::uint32_t first_shard = 0, shards = 0;
  std::uint32_t first_part = 0, end_part = 0;  ///< range of parts of spilled segments
  bool is_last = true;                         ///< no more words of these shards follow
};

template <int Words>
class SpilledGroups {
 public:
  /// Plans the groups of the shards [first_shard, end_shard), with at most so many bytes of device memory, if
  /// these suffice for four segments. (It takes an eighth more if one part of a segment has next to nothing
  /// but one shard's words.) Everything has been spilled; `resident` stays as it is.
  SpilledGroups(SpilledSegments<Words>& spilled, const PendingWords<Words>& resident,
                std::uint32_t first_shard, std::uint32_t end_shard, std::uint32_t bins_per_shard,
                std::uint64_t most_bytes, cudaStream_t stream);

  /// After it, nothing looks at the groups' memory any more, whatever went wrong.
  ~SpilledGroups() {
    spilled_.let_fetch_end();
    cudaStreamSynchronize(stream_);
  }

  /// Returns the groups in order.
  [[nodiscard]] const std::vector<ShardGroup>& groups() const { return groups_; }

  /// True when some shard comes back in several pieces.
  [[nodiscard]] bool has_pieces() const;
  /// Begins to bring the first group back. Until then nothing has been allocated.
  void start();

  /// The segments that counting a group looks at: its own words, or these and the resident ones.
  struct GroupViews {
    const SegmentView<Words>* own;  ///< array of one
    const SegmentView<Words>* all;
    std::uint32_t all_size;
  };
  /// Waits for group `number`, which is the next, merges it in the stream, and begins to bring the one after
  /// it. The views are those of this group until the next but one is taken.
  GroupViews take(std::size_t number);

 private:
  /// The sizes of a group.
  struct GroupSizes {
    std::uint64_t words = 0, bins = 0;
    std::uint64_t slice_offsets = 0;  ///< number of offsets of bins in parts
  };

  void plan(std::uint32_t first_shard, std::uint32_t end_shard, std::uint64_t most_bytes);
  [[nodiscard]] GroupSizes sizes_of(std::uint64_t words, std::uint64_t shards, std::uint64_t parts) const;
  /// Returns the largest of each size over all groups.
  [[nodiscard]] GroupSizes largest() const;
  /// Returns the device memory for a group: the place to which it comes, and twice the place in which it is
  /// merged.
  [[nodiscard]] static std::uint64_t bytes_for(const GroupSizes& sizes);
  void allocate();
  void begin_fetch(std::size_t number);

  SpilledSegments<Words>& spilled_;
  const PendingWords<Words>& resident_;
  const std::uint32_t bins_per_shard_;
  const cudaStream_t stream_;
  std::vector<ShardGroup> groups_;
  Slices<Words> slices_;
  Event slices_free_;
  std::vector<SliceMerge<Words>> merge_;  ///< has one element
  Segment<Words> merged_[2];
  DeviceArray<SegmentView<Words>> views_[2];     ///< views of a group, and of the resident words
  PinnedArray<SegmentView<Words>> own_view_{1};  ///< view of the group that was taken last, on its way there
  HostFence view_copied_;
};

}  // namespace warpmer::gpu
