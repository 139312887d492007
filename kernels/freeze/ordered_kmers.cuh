#pragma once
/// Counted k-mers on the device in the order of their shards, groups, layers and flanks: those that follow
/// each other in a string lie close together.

#include <cstdint>

#include "groups/group_key.h"
#include "kernels/count/counted.cuh"

namespace warpmer::gpu {

/// A count that does not fit 32 bits, and the number of its k-mer.
struct BigKmer {
  std::uint64_t count;
  std::uint32_t number;
};

/// The k-mers of consecutive shards. `Key` holds a key of groups::GroupKeys.
template <class Key>
struct OrderedKmers {
  using Keys = groups::GroupKeys<Key, Key>;

  Keys keys;
  const Key* key;  ///< rising in each shard
  const std::uint32_t* counts;
  std::uint32_t size;
  const std::uint32_t* shard_begins;  ///< `shards` + 1
  std::uint32_t shards;
  const BigKmer* big;
  const std::uint32_t* big_size;
  /// If there is any: all counts, for those that do not fit 32 bits. Then there is no list of these.
  const std::uint64_t* wide = nullptr;

  [[nodiscard]] __device__ std::uint32_t flank_bases() const { return keys.shape().flank_bases(); }
  [[nodiscard]] __device__ std::uint64_t count(std::uint32_t i) const {
    const std::uint32_t stored = counts[i];
    return stored == kBigCount ? big_count(i) : stored;
  }
  [[nodiscard]] __device__ bool is_more_frequent(std::uint32_t i, std::uint32_t than) const {
    const std::uint32_t a = counts[i], b = counts[than];
    return a == b && a == kBigCount ? big_count(i) > big_count(than) : a > b;
  }

 private:
  /// Returns a count that the list has. They are very few.
  [[nodiscard]] __device__ std::uint64_t big_count(std::uint32_t i) const {
    if (wide != nullptr) return wide[i];
    const std::uint32_t n = min(*big_size, kMostBigCounts);
#pragma unroll 1
    for (std::uint32_t at = 0; at < n; ++at) {
      if (big[at].number == i) return big[at].count;
    }
    return 0;  // cannot be
  }
};

}  // namespace warpmer::gpu
