#pragma once
/// Plans how an index that is larger than a device's memory is looked up in there: its shards in children,
/// some of which are on the device at a time, and how much text waits there for them.

#include <cstdint>
#include <vector>

namespace warpmer::backend {

struct PagedLookupPlan {
  std::uint64_t frame_words = 0;  ///< words of payloads, for any child; 0: the memory does not suffice
  std::vector<std::uint32_t> first_shard;  ///< one for each child; and the end
  std::uint32_t slice_starts = 0;          ///< starts of k-mers in a text that waits
  std::uint32_t slices = 0;                ///< texts that wait at a time

  [[nodiscard]] std::uint32_t children() const {
    return first_shard.empty() ? 0 : static_cast<std::uint32_t>(first_shard.size() - 1);
  }
};

/// One child is asked, one is asked or has been loaded, one is being loaded.
inline constexpr std::uint32_t kPagedFrames = 3;

/// Costs that a device's memory has to bear, but for payloads.
struct PagedLookupCosts {
  std::uint32_t tile_starts;      ///< slices are whole tiles of so many starts
  std::uint64_t bytes_per_tile;   ///< bytes of a slice, at least 1
  std::uint64_t bytes_per_slice;  ///< besides
  std::uint64_t bytes_per_frame;  ///< besides its payloads
  std::uint64_t bytes;            ///< besides all that
};

/// `shard_words`: the payload of each shard. `memory_bytes`: of the device. `most_slices`: at least 1.
PagedLookupPlan plan_paged_lookup(const std::vector<std::uint64_t>& shard_words, std::uint64_t memory_bytes,
                                  const PagedLookupCosts& costs, std::uint32_t most_slices);

/// Returns the least memory for which there is a plan.
std::uint64_t least_paged_memory(const std::vector<std::uint64_t>& shard_words,
                                 const PagedLookupCosts& costs);

}  // namespace warpmer::backend
