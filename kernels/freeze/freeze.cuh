#pragma once
/// Freezing on the device: counted lists to the payload of index/frozen_shard.h.

#include <cstdint>

#include "index/shard_codec.h"
#include "kernels/count/counted.cuh"

namespace warpmer::gpu {

inline constexpr std::uint32_t kMostListsPerShard = 256;

/// How a shard's payload is laid out, and where it goes.
struct ShardPlan {
  index::ShardShape shape;
  index::PayloadLayout layout;
  std::uint64_t first_word;  ///< of its payload in the output
};

template <class Key>
struct FreezeTask {
  CountedView<Key> counted;
  std::uint32_t k;
  std::uint32_t first_shard, shards;
  std::uint32_t lists_per_shard;
  const ShardPlan* plans;      ///< for each shard, on the device
  std::uint64_t entries;       ///< of all shards
  unsigned long long* output;  ///< room for the payloads; what stands there does not matter
  std::uint32_t* scratch;      ///< freeze_scratch(shards) of them
};

/// Shards of so many entries that the current device freezes at once.
template <class Key>
std::uint32_t shards_at_once(double entries_per_shard);

/// Ranges of hashes with which lists of shards of so many entries are frozen fastest: at least kLeastRanges,
/// at most kMostRanges.
template <class Key>
std::uint32_t ranges_for(double entries_per_shard);

/// Of a task's `scratch`.
std::size_t freeze_scratch(std::uint32_t shards);

/// Enqueues the packing of all shards: puts their entries in order and writes their payloads.
template <class Key>
void launch_freeze(const FreezeTask<Key>& task, cudaStream_t stream);

}  // namespace warpmer::gpu
