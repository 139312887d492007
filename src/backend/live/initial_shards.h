#pragma once
/// The shards that a live table begins with, taken apart into k-mers.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backend/live/initial_kmers.h"
#include "base/thread_team.h"
#include "groups/group_key.h"
#include "kmer/kmer.h"

namespace warpmer::backend {

/// The k-mers of a shard as they are counted, and their counts.
template <class Key>
struct InitialShard {
  std::uint32_t number = 0;
  std::vector<Key> kmers;
  std::vector<std::uint32_t> counts;  ///< of no use when `largest` has more than 32 bits
  std::uint64_t largest = 0;          ///< of the counts
};

/// Calls `visit(shard)` for each shard that a table begins with, on so many threads, in any order.
template <class Key, class Visit>
void for_each_initial_shard(const InitialKmers& initial, unsigned threads, Visit&& visit) {
  const index::IndexParams& params = initial.params();
  share_numbers(threads, 0, params.shards(), [&](unsigned /*thread*/, SharedNumbers& numbers) {
    const groups::GroupKeys<Key, Key> keys(params.k);
    groups::GroupKmers<Key> group(keys.shape().flank_bases());
    InitialShard<Key> shard;
    while (numbers.take(shard.number)) {
      shard.kmers.clear();
      shard.counts.clear();
      shard.largest = 0;
      groups::for_each_key(initial.strings(shard.number), keys, group, [&](Key key, std::uint64_t count) {
        const Key kmer = keys.template kmer<Key>({shard.number, key});
        shard.kmers.push_back(params.canonical ? canonical(kmer, keys.shape().k) : kmer);
        shard.counts.push_back(static_cast<std::uint32_t>(count));
        shard.largest = std::max(shard.largest, count);
      });
      initial.release(shard.number);
      visit(shard);
    }
  });
}

}  // namespace warpmer::backend
