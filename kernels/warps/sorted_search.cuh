#pragma once
/// Searches in rising numbers and keys.

#include <cstdint>

namespace warpmer::gpu {

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
