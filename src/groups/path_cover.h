#pragma once
/// The k-mers of one group into as few strings as can be.
///
/// The next k-mer along a sequence has one base less to the left of the minimizer, so a group is a graph of
/// layers, with edges between neighbouring ones alone. The k-mers of layers p and p - 1 that share k - 1
/// bases are a complete bipartite graph of at most 4 by 4; these graphs have no vertex in common on either
/// side. So any matching that is as large as possible in each of them gives a smallest cover of the group by
/// paths (a layered case of Dilworth's minimum path cover by matching). Which one is chosen depends on k-mers
/// and counts alone: the most frequent with the most frequent, so that counts are alike along a string.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "groups/flanked_kmer.h"
#include "kmer/kmer.h"

namespace warpmer::groups {

/// A path through a group: k-mers of layers `left_bases` down to n - `right_bases`. In both flanks the base
/// beside the minimizer is the least significant. Where its counts are not all equal, they are in a list.
template <class Flanks>
struct GroupString {
  std::uint32_t left_bases, right_bases;
  Flanks left, right;
  std::uint64_t smallest_count, largest_count;
  std::size_t first_count;  ///< number of the count of its first k-mer in the list

  [[nodiscard]] std::uint32_t kmers(std::uint32_t flank_bases) const {
    return left_bases + right_bases - flank_bases + 1;
  }
};

/// The order of strings in a group: what is asked for most often is found first.
template <class Flanks>
bool is_before(const GroupString<Flanks>& a, const GroupString<Flanks>& b) {
  if (a.largest_count != b.largest_count) return a.largest_count > b.largest_count;
  if (a.left_bases != b.left_bases) return a.left_bases > b.left_bases;
  if (a.right_bases != b.right_bases) return a.right_bases > b.right_bases;
  if (a.left != b.left) return a.left < b.left;
  return a.right < b.right;
}

/// Covers groups by strings. One per thread; its memory is reused.
template <class Flanks>
class PathCover {
 public:
  /// `flank_bases` is n, at least 1.
  explicit PathCover(std::uint32_t flank_bases) : n_(flank_bases) {}

  /// Appends the strings of a group to `strings` in their order, and the counts of those that have different
  /// ones to `string_counts`. The group is given by all its k-mers in increasing order of layer and flanks:
  /// layer p has numbers `layer_begins[p]` up to `layer_begins[p + 1]`, of n + 2 `layer_begins`. Returns the
  /// number of k-mers.
  std::uint64_t cover(std::span<const Flanks> flanks, std::span<const std::uint64_t> counts,
                      const std::uint32_t* layer_begins, std::vector<GroupString<Flanks>>& strings,
                      std::vector<std::uint64_t>& string_counts) {
    return cover(flanks, counts, layer_begins, strings, string_counts, [](std::size_t) {});
  }
  /// Does the same, and of a group of many k-mers calls `grows(bytes)` before it appends to the lists what
  /// takes at most so many.
  template <class Grows>
  std::uint64_t cover(std::span<const Flanks> flanks, std::span<const std::uint64_t> counts,
                      const std::uint32_t* layer_begins, std::vector<GroupString<Flanks>>& strings,
                      std::vector<std::uint64_t>& string_counts, Grows&& grows) {
    flanks_ = flanks.data();
    counts_ = counts.data();
    next_.assign(flanks.size(), kNone);
    has_previous_.assign(flanks.size(), 0);
    for (std::uint32_t layer = 1; layer <= n_; ++layer)
      match(layer_begins[layer], layer_begins[layer + 1], layer_begins[layer - 1], layer_begins[layer]);
    if (flanks.size() > kManyKmers) {
      grows(std::count(has_previous_.begin(), has_previous_.end(), 0) * sizeof(GroupString<Flanks>) +
            counts.size_bytes());
    }
    const std::size_t first_string = strings.size();
    for (std::uint32_t layer = n_ + 1; layer-- > 0;) {
      for (std::uint32_t i = layer_begins[layer]; i < layer_begins[layer + 1]; ++i) {
        if (has_previous_[i] == 0) strings.push_back(follow(i, layer, string_counts));
      }
    }
    std::sort(strings.begin() + static_cast<std::ptrdiff_t>(first_string), strings.end(), is_before<Flanks>);
    return flanks.size();
  }

  /// More in a group are worth being asked whether there is room for them.
  static constexpr std::size_t kManyKmers = std::size_t{1} << 14;
  /// Bytes that it works with for each k-mer of a group.
  static constexpr std::size_t kBytesOfKmer = sizeof(std::uint32_t) + sizeof(std::uint8_t);

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return next_.capacity() * sizeof(std::uint32_t) + has_previous_.capacity();
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// At most four k-mers that share k - 1 bases on one side, those with the largest counts first.
  struct Clique {
    std::uint32_t number[4];
    std::uint32_t size = 0;
  };
  void add(Clique& clique, std::uint32_t i) const {
    std::uint32_t at = clique.size++;
    for (; at > 0 && counts_[clique.number[at - 1]] < counts_[i]; --at)
      clique.number[at] = clique.number[at - 1];
    clique.number[at] = i;
  }

  void link(std::uint32_t upper, std::uint32_t lower) {
    next_[upper] = lower;
    has_previous_[lower] = 1;
  }

  /// The bases that a k-mer shares with the next one, and with the one before it.
  [[nodiscard]] Flanks shared_with_next(std::uint32_t i) const {
    return static_cast<Flanks>(flanks_[i] & key_mask<Flanks>(n_ - 1));
  }
  [[nodiscard]] Flanks shared_with_previous(std::uint32_t i) const { return flanks_[i] >> 2; }

  /// Matches the k-mers of a layer with those of the layer below it. The lower ones are in order of the bases
  /// that they share with upper ones; the upper ones are in four runs, by their first base, each of which is.
  void match(std::uint32_t upper_begin, std::uint32_t upper_end, std::uint32_t lower_begin,
             std::uint32_t lower_end) {
    if (upper_begin == upper_end || lower_begin == lower_end) return;
    if (upper_end - upper_begin == 1 && lower_end - lower_begin == 1) {
      if (shared_with_next(upper_begin) == shared_with_previous(lower_begin)) link(upper_begin, lower_begin);
      return;
    }
    std::uint32_t at[4], end[4];
    find_runs(upper_begin, upper_end, at, end);
    for (std::uint32_t i = lower_begin; i < lower_end;) {
      const Flanks shared = shared_with_previous(i);
      Clique upper, lower;
      for (; i < lower_end && shared_with_previous(i) == shared; ++i) add(lower, i);
      for (int run = 0; run < 4; ++run) {
        while (at[run] < end[run] && shared_with_next(at[run]) < shared) ++at[run];
        if (at[run] < end[run] && shared_with_next(at[run]) == shared) add(upper, at[run]++);
      }
      for (std::uint32_t pair = 0; pair < std::min(upper.size, lower.size); ++pair)
        link(upper.number[pair], lower.number[pair]);
    }
  }

  void find_runs(std::uint32_t begin, std::uint32_t end, std::uint32_t (&at)[4],
                 std::uint32_t (&ends)[4]) const {
    for (std::uint32_t base = 0; base < 4; ++base) {
      at[base] = begin;
      if (end - begin <= 16) {
        while (begin < end && first_base(begin) == base) ++begin;
      } else {
        begin = static_cast<std::uint32_t>(
            std::upper_bound(flanks_ + begin, flanks_ + end, base,
                             [&](std::uint32_t wanted, Flanks x) { return wanted < (x >> (2 * (n_ - 1))); }) -
            flanks_);
      }
      ends[base] = begin;
    }
  }
  [[nodiscard]] std::uint32_t first_base(std::uint32_t i) const {
    return static_cast<std::uint32_t>(flanks_[i] >> (2 * (n_ - 1)));
  }

  /// Returns the string that begins with a k-mer, which has no predecessor.
  GroupString<Flanks> follow(std::uint32_t first, std::uint32_t layer,
                             std::vector<std::uint64_t>& string_counts) const {
    GroupString<Flanks> string{};
    string.left_bases = layer;
    string.left = layer == 0 ? 0 : flanks_[first] >> (2 * (n_ - layer));
    string.first_count = string_counts.size();
    string.smallest_count = counts_[first];
    std::uint32_t last = first;
    for (std::uint32_t i = first; i != kNone; i = next_[i], --layer) {
      string_counts.push_back(counts_[i]);
      string.smallest_count = std::min(string.smallest_count, counts_[i]);
      string.largest_count = std::max(string.largest_count, counts_[i]);
      last = i;
    }
    // The loop has gone one layer further than the last k-mer.
    string.right_bases = n_ - (layer + 1);
    string.right = reverse_flank(static_cast<Flanks>(flanks_[last] & key_mask<Flanks>(string.right_bases)),
                                 string.right_bases);
    if (string.smallest_count == string.largest_count) string_counts.resize(string.first_count);
    return string;
  }

  std::uint32_t n_;
  const Flanks* flanks_ = nullptr;
  const std::uint64_t* counts_ = nullptr;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint8_t> has_previous_;
};

}  // namespace warpmer::groups
