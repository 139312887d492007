#include "engine/paged_lookup_plan.h"

#include <algorithm>

namespace warpmer::engine {

namespace {

/// The more text waits, the more k-mers each child serves that comes; what it takes cannot hold children. An
/// eighth of the memory costs a seventh of the bytes moved in a round, and a batch (io/batch.h) is one slice
/// where there is room for several.
constexpr std::uint64_t kTextShare = 8;
constexpr std::uint32_t kLeastTiles = 16;
constexpr std::uint32_t kMostStarts = 1u << 22;
constexpr std::uint64_t kFewSlices = 4;

}  // namespace

PagedLookupPlan plan_paged_lookup(const std::vector<std::uint64_t>& shard_words, std::uint64_t memory_bytes,
                                  const PagedLookupCosts& costs, std::uint32_t most_slices) {
  PagedLookupPlan plan;
  const std::uint64_t least_starts = std::uint64_t{kLeastTiles} * costs.tile_starts;
  const auto slice_bytes = [&](std::uint64_t starts) {
    return starts * costs.bytes_per_start + costs.bytes_per_slice;
  };
  const std::uint64_t for_text = memory_bytes / kTextShare;
  const std::uint64_t affordable =
      for_text / kFewSlices > costs.bytes_per_slice
          ? (for_text / kFewSlices - costs.bytes_per_slice) / costs.bytes_per_start
          : 0;
  const std::uint64_t starts = std::clamp<std::uint64_t>(affordable / costs.tile_starts * costs.tile_starts,
                                                         least_starts, kMostStarts);
  const std::uint64_t slices = std::clamp<std::uint64_t>(for_text / slice_bytes(starts), 1, most_slices);
  const std::uint64_t spoken_for =
      costs.bytes + slices * slice_bytes(starts) + kPagedFrames * costs.bytes_per_frame;
  const std::uint64_t largest =
      shard_words.empty() ? 0 : *std::max_element(shard_words.begin(), shard_words.end());
  if (memory_bytes <= spoken_for) return plan;
  const std::uint64_t words = (memory_bytes - spoken_for) / kPagedFrames / sizeof(std::uint64_t);
  if (words < std::max<std::uint64_t>(largest, 1)) return plan;
  plan.frame_words = words;
  plan.slice_starts = static_cast<std::uint32_t>(starts);
  plan.slices = static_cast<std::uint32_t>(slices);
  plan.first_shard = {0};
  std::uint64_t filled = 0;
  for (std::uint32_t shard = 0; shard < shard_words.size(); ++shard) {
    if (filled + shard_words[shard] > words) {
      plan.first_shard.push_back(shard);
      filled = 0;
    }
    filled += shard_words[shard];
  }
  plan.first_shard.push_back(static_cast<std::uint32_t>(shard_words.size()));
  return plan;
}

std::uint64_t least_paged_memory(const std::vector<std::uint64_t>& shard_words,
                                 const PagedLookupCosts& costs) {
  std::uint64_t low = 0, high = std::uint64_t{1} << 50;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (plan_paged_lookup(shard_words, middle, costs, 1).frame_words > 0 ? high : low) = middle;
  }
  return high;
}

}  // namespace warpmer::engine
