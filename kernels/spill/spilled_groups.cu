#include <algorithm>

#include "kernels/memory/small_copy.cuh"
#include "kernels/spill/spilled_groups.cuh"

namespace warpmer::gpu {

template <int Words>
SpilledGroups<Words>::SpilledGroups(SpilledSegments<Words>& spilled, const PendingWords<Words>& resident,
                                    std::uint32_t first_shard, std::uint32_t end_shard,
                                    std::uint32_t bins_per_shard, std::uint64_t most_bytes,
                                    cudaStream_t stream)
    : spilled_(spilled), resident_(resident), bins_per_shard_(bins_per_shard), stream_(stream) {
  // Memory is for the most words and the most bins of all groups, which may be those of different ones.
  for (std::uint64_t bytes = most_bytes; bytes > most_bytes / 4; bytes -= most_bytes / 8) {
    groups_.clear();
    plan(first_shard, end_shard, bytes);
    if (bytes_for(largest()) <= most_bytes) break;
  }
}

template <int Words>
bool SpilledGroups<Words>::has_pieces() const {
  return std::any_of(groups_.begin(), groups_.end(), [](const ShardGroup& group) { return !group.is_last; });
}

template <int Words>
void SpilledGroups<Words>::start() {
  allocate();
  slices_free_.record(stream_);
  begin_fetch(0);
}

template <int Words>
auto SpilledGroups<Words>::largest() const -> GroupSizes {
  GroupSizes most;
  for (const ShardGroup& group : groups_) {
    std::uint64_t words = 0;
    for (std::uint32_t part = group.first_part; part < group.end_part; ++part) {
      for (std::uint32_t shard = group.first_shard; shard < group.first_shard + group.shards; ++shard)
        words += spilled_.words_of(part, shard);
    }
    const GroupSizes sizes = sizes_of(words, group.shards, group.end_part - group.first_part);
    most.words = std::max(most.words, sizes.words);
    most.bins = std::max(most.bins, sizes.bins);
    most.slice_offsets = std::max(most.slice_offsets, sizes.slice_offsets);
  }
  return most;
}

template <int Words>
void SpilledGroups<Words>::allocate() {
  const GroupSizes most = largest();
  slices_.words = DeviceArray<SuperKmer<Words>>(most.words);
  slices_.offsets = DeviceArray<std::uint32_t>(most.slice_offsets);
  for (int i = 0; i < 2; ++i) {
    merged_[i].words = DeviceArray<SuperKmer<Words>>(most.words);
    merged_[i].offsets = DeviceArray<std::uint32_t>(most.bins + 1);
    views_[i] = DeviceArray<SegmentView<Words>>(kMostSegments);
    copy_anywhere(views_[i].data() + 1, resident_.views(), resident_.segments(), stream_,
                  "copying on the GPU");
  }
  merge_.emplace_back(spilled_.parts(), static_cast<std::uint32_t>(most.bins), most.slice_offsets);
}

template <int Words>
auto SpilledGroups<Words>::sizes_of(std::uint64_t words, std::uint64_t shards, std::uint64_t parts) const
    -> GroupSizes {
  const std::uint64_t bins = shards * bins_per_shard_;
  return {words, bins, parts * (bins + 1)};
}

template <int Words>
std::uint64_t SpilledGroups<Words>::bytes_for(const GroupSizes& sizes) {
  return 3 * sizes.words * sizeof(SuperKmer<Words>) +
         sizes.slice_offsets * (sizeof(std::uint32_t) + SliceMerge<Words>::kBinSliceBytes) +
         4 * (sizes.bins + 1) * sizeof(std::uint32_t);
}

template <int Words>
void SpilledGroups<Words>::plan(std::uint32_t first_shard, std::uint32_t end_shard,
                                std::uint64_t most_bytes) {
  const std::uint32_t parts = spilled_.parts();
  ShardGroup open{first_shard, 0, 0, parts, true};
  std::uint64_t open_words = 0;
  const auto close = [&](std::uint32_t next) {
    if (open.shards > 0) groups_.push_back(open);
    open.first_shard = next;
    open.shards = 0;
    open_words = 0;
  };
  for (std::uint32_t shard = first_shard; shard < end_shard; ++shard) {
    std::uint64_t words = 0;
    for (std::uint32_t part = 0; part < parts; ++part) words += spilled_.words_of(part, shard);
    if (bytes_for(sizes_of(open_words + words, open.shards + 1, parts)) > most_bytes) close(shard);
    if (bytes_for(sizes_of(words, 1, parts)) <= most_bytes) {
      ++open.shards;
      open_words += words;
      continue;
    }
    // Some parts after the others.
    ShardGroup piece{shard, 1, 0, 0, false};
    words = 0;
    for (std::uint32_t part = 0; part < parts; ++part) {
      words += spilled_.words_of(part, shard);
      const std::uint64_t bytes = bytes_for(sizes_of(words, 1, part + 1 - piece.first_part));
      if (part > piece.first_part && bytes > most_bytes) {
        piece.end_part = part;
        groups_.push_back(piece);
        piece.first_part = part;
        words = spilled_.words_of(part, shard);
      }
    }
    piece.end_part = parts;
    piece.is_last = true;
    groups_.push_back(piece);
    close(shard + 1);
  }
  close(end_shard);
}

template <int Words>
void SpilledGroups<Words>::begin_fetch(std::size_t number) {
  const ShardGroup& group = groups_[number];
  spilled_.begin_fetch(group.first_shard, group.shards, group.first_part, group.end_part, slices_,
                       slices_free_);
}

template <int Words>
auto SpilledGroups<Words>::take(std::size_t number) -> GroupViews {
  spilled_.wait_fetched(stream_);
  Segment<Words>& merged = merged_[number % 2];
  merge_.front().merge(slices_, merged, stream_);
  slices_free_.record(stream_);
  if (number + 1 < groups_.size()) begin_fetch(number + 1);
  const DeviceArray<SegmentView<Words>>& views = views_[number % 2];
  view_copied_.wait();  // that of the group before
  own_view_[0] = merged.view(0);
  copy_small(views.data(), own_view_.data(), 1, stream_);
  view_copied_.record(stream_);
  return {views.data(), views.data(), resident_.segments() + 1};
}

template class SpilledGroups<2>;
template class SpilledGroups<4>;

}  // namespace warpmer::gpu
