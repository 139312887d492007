#pragma once
/// Merges frozen shards on the device: added counts are added up, removed counts are taken away, and the
/// payload of the rest comes out. Decoded entries are only ever in shared memory.

#include <cstdint>

#include "index/shard_codec.h"
#include "kernels/count/count.cuh"
#include "kernels/freeze/freeze.cuh"

namespace warpmer::gpu {

/// The merge of one shard. The payloads are on the device; a missing one has no entries.
template <class Key>
struct MergedShard {
  index::ShardReader<Key> was, added, removed;
  std::uint32_t first_piece;  ///< number of its first piece among all of the task
  std::uint32_t piece_bits;   ///< its pieces are 2^piece_bits equal parts of all hashes
};

/// The k-mers of `removed` that were not there, or not so often (backend::Shortfall).
struct ShortfallCounts {
  unsigned long long absent_kmers, absent_occurrences, short_kmers, short_occurrences;
};

/// Some shards that are merged together. All memory is on the device.
template <class Key>
struct MergeTask {
  const MergedShard<Key>* shards;
  std::uint32_t shard_count, pieces;
  std::uint32_t k;
  std::uint32_t* next;  ///< scratch: the next piece to merge

  // By piece: the measured numbers, and later the sums over the pieces before it in its shard.
  std::uint32_t* entries;
  std::uint32_t* widths;  ///< kWidths each
  std::uint64_t* entries_before;
  std::uint64_t* exceptions_before;

  // The results of measuring.
  std::uint32_t* shard_widths;  ///< kWidths for each shard; 0 before
  unsigned long long* tallies;  ///< CountHistogram::kTallies, which are added to; larger counts are not noted
  ShortfallCounts* shortfall;   ///< is added to
  std::uint32_t* damaged;       ///< 1 + the number of a shard whose `was` is damaged; else unchanged

  // The input of writing.
  const ShardPlan* plans;      ///< for each shard
  unsigned long long* output;  ///< all 0
};

/// The most entries, of all three inputs, that a piece should have on average.
template <class Key>
std::uint32_t most_entries_per_piece();

/// Enqueues the count of the entries that are left in every piece: fills `entries`, `widths`, and the results
/// of measuring.
template <class Key>
void launch_measure_merge(const MergeTask<Key>& task, cudaStream_t stream);

/// Enqueues the writing of all payloads, after `plans` have been set.
template <class Key>
void launch_write_merge(const MergeTask<Key>& task, cudaStream_t stream);

}  // namespace warpmer::gpu
