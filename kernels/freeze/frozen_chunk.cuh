#pragma once
/// Frozen shards on the device, as a counter hands them over.

#include <cstdint>
#include <vector>

#include "groups/shard_layout.h"
#include "index/frozen_shard.h"
#include "kernels/freeze/freeze.cuh"
#include "kernels/memory/device_memory.cuh"

namespace warpmer::gpu {

/// A shard of strings, and its place.
struct StringPlan {
  groups::ShardSizes sizes;
  std::uint64_t first_word;  ///< number of its payload's first word in the output
};

/// Some consecutive frozen shards: all of entries, or all of strings. A chunk is valid until `reclaim` of its
/// first shard has returned.
struct FrozenChunk {
  std::uint32_t first_shard = 0;
  std::vector<ShardPlan> plans = {};            ///< one for each shard of entries
  std::vector<StringPlan> strings = {};         ///< one for each shard of strings
  const unsigned long long* payload = nullptr;  ///< on the device
  Event* ready = nullptr;                       ///< when it has passed, the payload is complete

  [[nodiscard]] std::uint32_t shards() const {
    return static_cast<std::uint32_t>(plans.size() + strings.size());
  }
  /// Return where the payload of shard `number` of these begins, and its words.
  [[nodiscard]] std::uint64_t first_word(std::uint32_t number) const {
    return strings.empty() ? plans[number].first_word : strings[number].first_word;
  }
  [[nodiscard]] std::uint64_t words(std::uint32_t number) const {
    if (!strings.empty()) return strings[number].sizes.words;
    return plans[number].shape.entries > 0 ? plans[number].layout.words : 0;
  }
  /// Returns the shard without its payload.
  [[nodiscard]] index::FrozenShard head(std::uint32_t number) const {
    index::FrozenShard frozen;
    if (strings.empty()) {
      frozen.shape = plans[number].shape;
    } else {
      frozen.sizes = strings[number].sizes;
    }
    return frozen;
  }
};

}  // namespace warpmer::gpu
