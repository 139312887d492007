#pragma once
/// Merging frozen shards on the device: what is added is added up, what is removed is taken away, and the
/// payload of what is left comes out, without any entry ever being anywhere but in shared memory.

#include <cstdint>

#include "index/shard_codec.h"
#include "kernels/count/count.cuh"
#include "kernels/freeze/freeze.cuh"

namespace warpmer::gpu {

/// What becomes of one shard. The payloads are on the device; what there is not has no entries.
template <class Key>
struct MergedShard {
  index::ShardReader<Key> was, added, removed;
  std::uint32_t first_piece;  ///< of all in the task
  std::uint32_t piece_bits;   ///< its pieces are 2^piece_bits equal parts of all hashes
};

/// What of `removed` was not there, or not so often (backend::Shortfall).
struct ShortfallCounts {
  unsigned long long absent_kmers, absent_occurrences, short_kmers, short_occurrences;
};

/// Some shards that are merged together. All memory is on the device.
template <class Key>
struct MergeTask {
  const MergedShard<Key>* shards;
  std::uint32_t shard_count, pieces;
  std::uint32_t k;
  std::uint32_t* next;  ///< scratch: the piece whose turn it is

  // By piece: measured, and then what comes before it in its shard.
  std::uint32_t* entries;
  std::uint32_t* widths;  ///< kWidths each
  std::uint64_t* entries_before;
  std::uint64_t* exceptions_before;

  // What measuring finds out.
  std::uint32_t* shard_widths;  ///< kWidths for each shard; 0 before
  unsigned long long* bins;     ///< CountHistogram::kBins, which are added to; larger counts are not noted
  ShortfallCounts* shortfall;   ///< added to
  std::uint32_t* damaged;       ///< 1 + the number of a shard whose `was` is damaged; else as it was

  // What writing needs to know.
  const ShardPlan* plans;      ///< for each shard
  unsigned long long* output;  ///< all 0
};

/// Entries, of all three, that a piece should have on average, at most.
template <class Key>
std::uint32_t most_entries_per_piece();

/// Enqueues the count of what is left in every piece: `entries`, `widths`, and what is found out.
template <class Key>
void launch_measure_merge(const MergeTask<Key>& task, cudaStream_t stream);

/// Enqueues, when `plans` say how, the writing of all payloads.
template <class Key>
void launch_write_merge(const MergeTask<Key>& task, cudaStream_t stream);

}  // namespace warpmer::gpu
