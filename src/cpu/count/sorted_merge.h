#pragma once
/// Two sorted lists of hashes with counts, merged. In the terms of Green 2019 this is the intersection of two
/// HashGraphs: the lists are what two indexes have in the same range of buckets ("probe-new").

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace warpmer::cpu {

/// Distinct hashes in increasing order, each with its count and, where `samples` is not null, with the number
/// of inputs that have it.
template <class Key>
struct SortedList {
  const Key* hashes = nullptr;
  const std::uint64_t* counts = nullptr;
  const std::uint32_t* samples = nullptr;
  std::size_t size = 0;
};

/// The arrays that a merged list goes to. Each has room for one more than the result.
template <class Key>
struct MergeTarget {
  Key* hashes;
  std::uint64_t* counts;
  std::uint32_t* samples;  ///< null as in the lists
};

/// Says which of the hashes a merge keeps.
struct Keep {
  bool left_only;
  bool right_only;
  bool both;
};
inline constexpr Keep kUnion{true, true, true};
inline constexpr Keep kIntersection{false, false, true};
inline constexpr Keep kLeft{true, false, true};
inline constexpr Keep kLeftOnly{true, false, false};
inline constexpr Keep kEitherOnly{true, true, false};

// Ways to combine two counts. `mine` and `other` are 0 where a list has no such hash.

/// A sum beyond 64 bits stays at the largest number there is.
struct AddCounts {
  bool overflow = false;  ///< there was such a sum
  [[gnu::always_inline]] std::uint64_t operator()(std::uint64_t mine, std::uint64_t other) {
    const std::uint64_t sum = mine + other;
    const bool is_beyond = sum < mine;
    overflow |= is_beyond;
    return sum | (std::uint64_t{0} - is_beyond);
  }
};
struct SmallerCount {
  /// A list that has no such hash does not make its count 0.
  [[gnu::always_inline]] std::uint64_t operator()(std::uint64_t mine, std::uint64_t other) const {
    return std::min(mine - 1, other - 1) + 1;
  }
};
struct LargerCount {
  [[gnu::always_inline]] std::uint64_t operator()(std::uint64_t mine, std::uint64_t other) const {
    return std::max(mine, other);
  }
};
struct LeftCount {
  [[gnu::always_inline]] std::uint64_t operator()(std::uint64_t mine, std::uint64_t other) const {
    return mine != 0 ? mine : other;
  }
};
struct RightCount {
  [[gnu::always_inline]] std::uint64_t operator()(std::uint64_t mine, std::uint64_t other) const {
    return other != 0 ? other : mine;
  }
};
/// 0 where nothing is left: `merge` then drops the hash.
struct CountLess {
  [[gnu::always_inline]] std::uint64_t operator()(std::uint64_t mine, std::uint64_t other) const {
    return mine - std::min(mine, other);
  }
};

/// Merges, and returns the size of the result. Hashes whose combined count is 0 are dropped. No branch
/// depends on the hashes: which list is ahead is not to be predicted.
template <Keep kKeep, class Key, class Combine>
std::size_t merge(const SortedList<Key>& left, const SortedList<Key>& right, const MergeTarget<Key>& out,
                  Combine& combine) {
  constexpr bool kKeepsAll = kKeep.left_only && kKeep.right_only && kKeep.both;
  std::size_t i = 0, j = 0, n = 0;
  const auto put = [&](Key hash, std::uint64_t count, std::uint32_t samples, std::size_t keeps) {
    out.hashes[n] = hash;
    out.counts[n] = count;
    if (out.samples != nullptr) out.samples[n] = samples;
    n += keeps;
  };
  while (i < left.size && j < right.size) {
    const Key a = left.hashes[i], b = right.hashes[j];
    const bool in_left = a <= b, in_right = b <= a;
    const std::uint64_t left_mask = std::uint64_t{0} - in_left, right_mask = std::uint64_t{0} - in_right;
    const std::uint64_t count = combine(left.counts[i] & left_mask, right.counts[j] & right_mask);
    const auto samples =
        out.samples == nullptr
            ? 0u
            : static_cast<std::uint32_t>((left.samples[i] & left_mask) + (right.samples[j] & right_mask));
    const bool keeps =
        kKeepsAll || (kKeep.both ? in_left == in_right || (in_left ? kKeep.left_only : kKeep.right_only)
                                 : in_left != in_right && (in_left ? kKeep.left_only : kKeep.right_only));
    put(in_left ? a : b, count, samples, (keeps && count != 0) ? 1 : 0);
    i += in_left;
    j += in_right;
  }
  const auto put_rest = [&](const SortedList<Key>& list, std::size_t from) {
    const std::size_t rest = list.size - from;
    std::copy_n(list.hashes + from, rest, out.hashes + n);
    std::copy_n(list.counts + from, rest, out.counts + n);
    if (out.samples != nullptr) std::copy_n(list.samples + from, rest, out.samples + n);
    n += rest;
  };
  if (kKeep.left_only) put_rest(left, i);
  if (kKeep.right_only) put_rest(right, j);
  return n;
}

}  // namespace warpmer::cpu
