#pragma once
/// Frozen shards on the device, as a counter hands them over, and what takes them.

#include <cstdint>
#include <vector>

#include "groups/shard_layout.h"
#include "index/frozen_shard.h"
#include "kernels/memory/device_memory.cuh"

namespace warpmer::gpu {

/// A shard of strings, and its place.
struct StringPlan {
  groups::ShardSizes sizes;
  std::uint64_t first_word;  ///< number of its payload's first word in the output
};

/// Some consecutive frozen shards. A chunk is valid until `ChunkSink::wait_for` its first shard has returned.
struct FrozenChunk {
  std::uint32_t first_shard = 0;
  std::vector<StringPlan> strings = {};         ///< one for each shard
  const unsigned long long* payload = nullptr;  ///< on the device
  Event* ready = nullptr;                       ///< when it has passed, the payload is complete

  [[nodiscard]] std::uint32_t shards() const { return static_cast<std::uint32_t>(strings.size()); }
  /// Returns shard `number` of these without its payload.
  [[nodiscard]] index::FrozenShard head(std::uint32_t number) const {
    index::FrozenShard frozen;
    frozen.sizes = strings[number].sizes;
    return frozen;
  }
};

/// Takes the chunks of one GPU, in order.
class ChunkSink {
 public:
  virtual ~ChunkSink() = default;
  /// Takes a chunk; the work that makes it is enqueued.
  virtual void put(FrozenChunk&& chunk) = 0;
  /// Returns when the chunk that begins with this shard, and was put, is no longer needed: its memory is used
  /// again. It must not wait for a later one.
  virtual void wait_for(std::uint32_t first_shard) = 0;
};

}  // namespace warpmer::gpu
