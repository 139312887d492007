#pragma once
/// Freezes on the device: makes the payload of index/frozen_shard.h from counted bins.

#include <cstdint>

#include "index/shard_codec.h"
#include "kernels/count/counted.cuh"

namespace warpmer::gpu {

inline constexpr std::uint32_t kMostBinsPerShard = 256;

/// The layout of a shard's payload, and its place.
struct ShardPlan {
  index::ShardShape shape;
  index::PayloadLayout layout;
  std::uint64_t first_word;  ///< number of its payload's first word in the output
};

template <class Key>
struct FreezeTask {
  CountedView<Key> counted;
  std::uint32_t k;
  std::uint32_t first_shard, shards;
  std::uint32_t bins_per_shard;
  const ShardPlan* plans;      ///< one for each shard, on the device
  std::uint64_t entries;       ///< number of entries of all shards
  unsigned long long* output;  ///< room for the payloads; its contents do not matter
  std::uint32_t* scratch;      ///< freeze_scratch(shards) of them
};

/// Returns the number of shards, of so many entries each, that the current device freezes at once.
template <class Key>
std::uint32_t shards_at_once(double entries_per_shard);

/// Returns the number of ranges of hashes with which bins of shards of so many entries are frozen fastest;
/// it is at least kLeastRanges and at most kMostRanges.
template <class Key>
std::uint32_t ranges_for(double entries_per_shard);

/// Returns the number of elements of a task's `scratch`.
std::size_t freeze_scratch(std::uint32_t shards);

/// Enqueues the packing of all shards: puts their entries in order and writes their payloads.
template <class Key>
void launch_freeze(const FreezeTask<Key>& task, cudaStream_t stream);

}  // namespace warpmer::gpu
