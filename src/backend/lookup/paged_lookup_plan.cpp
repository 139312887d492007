#include "backend/lookup/paged_lookup_plan.h"

#include <algorithm>

namespace warpmer::backend {

namespace {

/// Each child that comes serves all text that waits. A round of them moves what the frames do not hold, two
/// of which are of use to a text that comes: index - 2/3 (memory - text) bytes, for text / bytes_per_start
/// k-mers. The more text, the fewer bytes for each k-mer, whenever the index is larger than two thirds of the
/// memory; but a frame that is quickly filled costs more turns than bytes. Half and half is near the best of
/// both (docs/algorithms.md).
constexpr std::uint64_t kTextShare = 2;
constexpr std::uint32_t kLeastTiles = 16;
/// The bases of a batch (io/text/batch.h) of FASTQ are half of its text, and are one slice then. One of FASTA
/// is two, unless there is memory for as many slices as there may be of this size.
constexpr std::uint32_t kFastqStarts = 1u << 21, kMostStarts = 1u << 22;
/// While some wait, others come and go.
constexpr std::uint64_t kEnoughSlices = 16;

std::uint64_t bytes_of_slice(std::uint64_t tiles, const PagedLookupCosts& costs) {
  return tiles * costs.bytes_per_tile + costs.bytes_per_slice;
}

/// Returns the bytes for frames that just hold the largest shard.
std::uint64_t bytes_of_least_frames(const std::vector<std::uint64_t>& shard_words,
                                    const PagedLookupCosts& costs) {
  const std::uint64_t largest =
      shard_words.empty() ? 0 : *std::max_element(shard_words.begin(), shard_words.end());
  return kPagedFrames * (costs.bytes_per_frame + std::max<std::uint64_t>(largest, 1) * sizeof(std::uint64_t));
}

}  // namespace

std::uint64_t least_paged_memory(const std::vector<std::uint64_t>& shard_words,
                                 const PagedLookupCosts& costs) {
  return costs.bytes + bytes_of_slice(kLeastTiles, costs) + bytes_of_least_frames(shard_words, costs);
}

PagedLookupPlan plan_paged_lookup(const std::vector<std::uint64_t>& shard_words, std::uint64_t memory_bytes,
                                  const PagedLookupCosts& costs, std::uint32_t most_slices) {
  PagedLookupPlan plan;
  if (memory_bytes < least_paged_memory(shard_words, costs)) return plan;
  const std::uint64_t for_text =
      std::min(std::max(memory_bytes / kTextShare, bytes_of_slice(kLeastTiles, costs)),
               memory_bytes - costs.bytes - bytes_of_least_frames(shard_words, costs));
  const auto tiles_of_each = [&](std::uint64_t slices, std::uint32_t most_starts) {
    const std::uint64_t bytes = std::max(for_text / slices, costs.bytes_per_slice) - costs.bytes_per_slice;
    return std::min<std::uint64_t>(bytes / costs.bytes_per_tile, most_starts / costs.tile_starts);
  };
  const std::uint64_t tiles =
      std::max({std::uint64_t{kLeastTiles}, tiles_of_each(kEnoughSlices, kFastqStarts),
                tiles_of_each(most_slices, kMostStarts)});
  plan.slice_starts = static_cast<std::uint32_t>(tiles * costs.tile_starts);
  plan.slices = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(for_text / bytes_of_slice(tiles, costs), 1, most_slices));
  const std::uint64_t for_frames = memory_bytes - costs.bytes - plan.slices * bytes_of_slice(tiles, costs);
  plan.frame_words = (for_frames / kPagedFrames - costs.bytes_per_frame) / sizeof(std::uint64_t);
  plan.first_shard = {0};
  std::uint64_t filled = 0;
  for (std::uint32_t shard = 0; shard < shard_words.size(); ++shard) {
    if (filled + shard_words[shard] > plan.frame_words) {
      plan.first_shard.push_back(shard);
      filled = 0;
    }
    filled += shard_words[shard];
  }
  plan.first_shard.push_back(static_cast<std::uint32_t>(shard_words.size()));
  return plan;
}

}  // namespace warpmer::backend
