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

/// Returns the last of n rising numbers that is not above `value`; the first one is not.
template <class Number>
__device__ std::uint32_t last_not_above(const Number* numbers, std::uint32_t n, Number value) {
  std::uint32_t low = 0, high = n;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (numbers[middle] <= value) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Does the same for a thread whose value is little above `first`, which is the same for all of a block.
/// Their loads are the same, too, and only a few more follow.
template <class Number>
__device__ std::uint32_t last_not_above(const Number* numbers, std::uint32_t n, Number first, Number value) {
  std::uint32_t at = last_not_above(numbers, n, first);
  while (at + 1 < n && numbers[at + 1] <= value) ++at;
  return at;
}

/// Does the same for a value that all lanes of a warp have in common. All of them call it.
template <class Number>
__device__ std::uint32_t warp_last_not_above(const Number* numbers, std::uint32_t n, Number value) {
  std::uint32_t low = 0;
  while (n > 1) {
    const std::uint32_t step = (n + 31) / 32, at = threadIdx.x % 32 * step;
    const std::uint32_t skipped = __popc(__ballot_sync(~0u, at < n && numbers[low + at] <= value)) - 1;
    low += skipped * step;
    n = min(step, n - skipped * step);
  }
  return low;
}

/// Returns the number of the first key in [begin, end) that is not below `key`, or `end`.
template <class Key>
__device__ std::uint32_t lower_bound(const Key* keys, std::uint32_t begin, std::uint32_t end, Key key) {
  while (begin < end) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    if (keys[middle] < key) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

/// Returns the number of the first key in [begin, end) that is above `key`, or `end`.
template <class Key>
__device__ std::uint32_t upper_bound(const Key* keys, std::uint32_t begin, std::uint32_t end, Key key) {
  while (begin < end) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    if (key < keys[middle]) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return begin;
}

/// Does as lower_bound where keys[from] is not below `key`, and the answer is near `from`: steps back that
/// double.
template <class Key>
__device__ std::uint32_t lower_bound_before(const Key* keys, std::uint32_t begin, std::uint32_t from,
                                            Key key) {
  std::uint32_t high = from;
  for (std::uint32_t step = 1; high - begin > step; step *= 2) {
    if (keys[high - step] < key) return lower_bound(keys, high - step + 1, high, key);
    high -= step;
  }
  return lower_bound(keys, begin, high, key);
}

/// Does the same where keys[from] is below `key`.
template <class Key>
__device__ std::uint32_t lower_bound_behind(const Key* keys, std::uint32_t from, std::uint32_t end, Key key) {
  std::uint32_t low = from;
  for (std::uint32_t step = 1; end - low > step; step *= 2) {
    if (!(keys[low + step] < key)) return lower_bound(keys, low + 1, low + step, key);
    low += step;
  }
  return lower_bound(keys, low + 1, end, key);
}

}  // namespace warpmer::gpu
