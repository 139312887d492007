#pragma once
/// Counting a group: super-k-mers in, strings with counts out, the same that a PathCover of the k-mers gives.
///
/// Most super-k-mers of a group are parts of one string, because they come from one place of a genome. So a
/// group is counted in strings from the start: a super-k-mer is compared with those that are there, and what
/// it has in common with one is added to that one's counts for a whole stretch of layers at once. What is
/// left is a string of its own. No k-mer is ever in two strings; only where they end depends on the order in
/// which super-k-mers came, and is put right in the end.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/error.h"
#include "groups/flanked_kmer.h"
#include "groups/open_strings.h"
#include "groups/path_cover.h"

namespace warpmer::groups {

/// A filter of a GroupCounter, which sees the counts of a group before strings are made of it: this one keeps
/// all.
struct KeepAll {
  /// Takes note of so many k-mers that occurred `count` times each; or of `n` k-mers, each with its count.
  void note(std::uint64_t /*count*/, std::uint64_t /*kmers*/) const {}
  void note(const std::uint64_t* /*counts*/, std::size_t /*n*/) const {}
  /// True when `keeps` is for every count.
  [[nodiscard]] static constexpr bool keeps_all() { return true; }
  [[nodiscard]] static constexpr bool keeps(std::uint64_t /*count*/) { return true; }
};

/// True for a filter that wants to know the counts alone: then no strings are made.
template <class Filter>
constexpr bool keeps_none(const Filter& filter) {
  if constexpr (requires { filter.keeps_none(); }) {
    return filter.keeps_none();
  } else {
    return false;
  }
}

/// Counts one group after the other. One per thread; its memory is reused.
template <class Flanks>
class GroupCounter {
 public:
  explicit GroupCounter(std::uint32_t flank_bases)
      : n_(flank_bases), cover_(flank_bases), open_(flank_bases) {}

  /// Begins a group, whatever was added before.
  void begin() {
    open_.clear();
    entries_.clear();
  }

  /// Adds the k-mers of a super-k-mer of the group, each `times`.
  void add(const FlankedSuperKmer<Flanks>& super, std::uint64_t times) {
    // K-mers that are listed may be in strings as well: they come together in the end.
    const bool is_listing = !entries_.empty();
    const std::uint32_t compared = is_listing ? kComparedWhileListing : open_.size();
    std::uint64_t left = layer_bits(n_ - super.right_bases, super.left_bases);
    matches_ = 0;
    for (std::uint32_t i = 0; i < compared; ++i) {
      const Overlap overlap = Open::compare(open_[i], super);
      if (overlap.left + overlap.right < n_) continue;
      const std::uint32_t lowest = n_ - overlap.right, highest = overlap.left;
      add_to(open_[i], lowest, highest, times);
      left &= ~layer_bits(lowest, highest);
      if (left == 0) {
        // The string that most super-k-mers match moves to the front.
        if (i > 0) std::swap(open_[i], open_[i - 1]);
        return;
      }
      match_[matches_++] = {i, lowest, highest};
    }
    while (left != 0) {
      const std::uint32_t lowest = trailing_zeros(left), highest = end_of_stretch(left);
      left &= ~layer_bits(lowest, highest);
      if (is_listing || !place(super, lowest, highest, times)) list(part(super, lowest, highest), times);
    }
  }

  /// Adds a string of the group with its counts, `counts[i]` that of its i-th k-mer from the left.
  template <class Counts>
  void add_string(const FlankedSuperKmer<Flanks>& string, const Counts& counts) {
    // Stretches of equal counts go in as one.
    const std::uint32_t lowest = n_ - string.right_bases;
    for (std::uint32_t high = string.left_bases;;) {
      const std::uint64_t count = counts[string.left_bases - high];
      std::uint32_t low = high;
      while (low > lowest && counts[string.left_bases - (low - 1)] == count) --low;
      add(part(string, low, high), count);
      if (low == lowest) return;
      high = low - 1;
    }
  }

  /// Appends the strings of the group, in their order, and their counts, as PathCover::cover does, and begins
  /// the next group. Returns the number of its k-mers. `filter` is as KeepAll: it is told all counts, and
  /// says which k-mers are kept, or by `keeps_none` that none are.
  template <class Filter = KeepAll>
  std::uint64_t finish(std::vector<GroupString<Flanks>>& strings, std::vector<std::uint64_t>& counts,
                       Filter&& filter = {}) {
    bool is_listed = !entries_.empty();
    if (is_listed) {
      list_strings();
      sum_entries(filter);
    } else {
      sum_strings(filter);
    }
    std::uint64_t kmers = 0;
    if (!keeps_none(filter)) {
      is_listed = is_listed || !(filter.keeps_all() || drop(filter));
      kmers = is_listed ? finish_entries(strings, counts) : open_.finish(strings, counts);
    }
    begin();
    return kmers;
  }

  /// Returns what the lists take that groups of many strings need.
  [[nodiscard]] std::uint64_t memory_bytes() const {
    return entries_.capacity() * sizeof(WeighedKmer) + flanks_.capacity() * sizeof(Flanks) +
           counts_.capacity() * sizeof(std::uint64_t) + cover_.memory_bytes();
  }
  /// Gives that back.
  void clear() {
    begin();
    entries_ = {};
    flanks_ = {};
    counts_ = {};
    cover_ = PathCover<Flanks>(n_);
  }

 private:
  using Open = OpenStrings<Flanks>;
  using String = typename Open::String;
  using Overlap = typename Open::Overlap;
  /// While everything that came covered all of a string, its counts are equal, `each`; from then on the count
  /// of a layer is the sum of its steps from there up.
  using Steps = typename Open::Counts;
  static void add_steps(Steps& steps, std::uint32_t lowest, std::uint32_t highest, std::uint64_t times) {
    steps[highest] += times;
    if (lowest > 0) steps[lowest - 1] -= times;
  }
  struct Match {
    std::uint32_t string, lowest, highest;
  };
  struct WeighedKmer {
    std::uint32_t layer;
    Flanks flanks;
    std::uint64_t count;
    bool operator<(const WeighedKmer& other) const {
      return layer != other.layer ? layer < other.layer : flanks < other.flanks;
    }
  };

  /// Returns the k-mers of some layers of a super-k-mer.
  [[nodiscard]] FlankedSuperKmer<Flanks> part(const FlankedSuperKmer<Flanks>& super, std::uint32_t lowest,
                                              std::uint32_t highest) const {
    return {super.mmer, highest, n_ - lowest, static_cast<Flanks>(super.left & key_mask<Flanks>(highest)),
            static_cast<Flanks>(super.right & key_mask<Flanks>(n_ - lowest))};
  }

  void add_to(String& string, std::uint32_t lowest, std::uint32_t highest, std::uint64_t times) {
    if (string.is_even()) {
      if (highest == string.left_bases && lowest == n_ - string.right_bases) {
        string.each += times;
        return;
      }
      make_uneven(string);
    }
    add_steps(open_.array(string), lowest, highest, times);
  }
  void make_uneven(String& string) {
    Steps& steps = open_.take_counts(string);
    std::fill_n(steps.begin(), n_ + 1, 0);
    add_steps(steps, n_ - string.right_bases, string.left_bases, string.each);
  }

  /// Puts k-mers that no string has behind or before one that they overlap, or into one of their own. Returns
  /// false where there are too many strings.
  bool place(const FlankedSuperKmer<Flanks>& super, std::uint32_t lowest, std::uint32_t highest,
             std::uint64_t times) {
    const FlankedSuperKmer<Flanks> here = part(super, lowest, highest);
    for (std::uint32_t m = 0; m < matches_; ++m) {
      String& string = open_[match_[m].string];
      const bool goes_behind = match_[m].lowest == highest + 1 && n_ - string.right_bases == highest + 1;
      const bool goes_before = match_[m].highest + 1 == lowest && string.left_bases + 1u == lowest;
      if (!goes_behind && !goes_before) continue;
      if (string.is_even()) make_uneven(string);
      if (goes_behind) {
        string.right = here.right;
        string.right_bases = static_cast<std::uint8_t>(here.right_bases);
      } else {
        string.left = here.left;
        string.left_bases = static_cast<std::uint8_t>(here.left_bases);
      }
      add_steps(open_.array(string), lowest, highest, times);
      return true;
    }
    if (open_.is_full()) return false;
    open_.add(here, times);
    return true;
  }

  // Counting k-mer by k-mer, what goes beyond the strings that there is room for.

  void list(const FlankedSuperKmer<Flanks>& super, std::uint64_t times) {
    make_room();
    for (std::uint32_t layer = n_ - super.right_bases; layer <= super.left_bases; ++layer)
      entries_.push_back({layer, flanks_at(super.left, super.right, layer, n_), times});
  }
  /// Sees to it that there is room for the k-mers of a string: where little is gained by putting equal ones
  /// together, in half as much more memory. (It is not doubled, since a group may have very many.)
  void make_room() {
    if (entries_.size() + Open::kMostLayers <= entries_.capacity()) return;
    reduce();
    if (entries_.size() + Open::kMostLayers <= entries_.capacity() / 3 * 2) return;
    entries_.reserve(std::max(kLeastListed, entries_.capacity() / 2 * 3));
  }
  void list_strings() {
    for (std::uint32_t i = 0; i < open_.size(); ++i) {
      make_room();
      String& string = open_[i];
      if (string.is_even()) make_uneven(string);
      std::uint64_t count = 0;
      for (std::uint32_t layer = string.left_bases + 1u; layer-- > n_ - string.right_bases;) {
        count += open_.array(string)[layer];
        entries_.push_back({layer, flanks_at(string.left, string.right, layer, n_), count});
      }
    }
    open_.clear();
  }
  /// Puts equal k-mers together.
  void reduce() {
    std::sort(entries_.begin(), entries_.end());
    std::size_t out = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (out > 0 && entries_[out - 1].layer == entries_[i].layer &&
          entries_[out - 1].flanks == entries_[i].flanks) {
        entries_[out - 1].count += entries_[i].count;
      } else {
        entries_[out++] = entries_[i];
      }
    }
    entries_.resize(out);
  }
  /// Puts equal k-mers together, and drops those that are not kept.
  template <class Filter>
  void sum_entries(Filter& filter) {
    reduce();
    for (const WeighedKmer& entry : entries_) filter.note(entry.count, 1);
    if (!filter.keeps_all())
      std::erase_if(entries_, [&](const WeighedKmer& entry) { return !filter.keeps(entry.count); });
  }
  std::uint64_t finish_entries(std::vector<GroupString<Flanks>>& strings,
                               std::vector<std::uint64_t>& counts) {
    if (entries_.size() > UINT32_MAX) throw InputError("a group has 2^32 k-mers or more");
    flanks_.clear();
    flanks_.reserve(entries_.size());
    counts_.clear();
    counts_.reserve(entries_.size());
    layer_begins_.assign(n_ + 2, 0);
    for (const WeighedKmer& entry : entries_) {
      flanks_.push_back(entry.flanks);
      counts_.push_back(entry.count);
      ++layer_begins_[entry.layer + 1];
    }
    for (std::uint32_t layer = 0; layer <= n_; ++layer) layer_begins_[layer + 1] += layer_begins_[layer];
    return cover_.cover(flanks_, counts_, layer_begins_.data(), strings, counts);
  }

  /// Makes counts of steps.
  template <class Filter>
  void sum_strings(Filter& filter) {
    for (std::uint32_t i = 0; i < open_.size(); ++i) {
      String& string = open_[i];
      const std::uint32_t lowest = open_.lowest(string);
      const std::size_t kmers = string.left_bases + 1u - lowest;
      if (string.is_even()) {
        filter.note(string.each, kmers);
        continue;
      }
      Steps& steps = open_.array(string);
      std::uint64_t count = 0;
      for (std::uint32_t layer = string.left_bases + 1u; layer-- > lowest;)
        steps[layer] = count += steps[layer];
      filter.note(steps.data() + lowest, kmers);
    }
  }
  /// Cuts strings where k-mers are not kept: what is left has no k-mer twice, as before. False when it is
  /// more strings than there is room for: it is listed instead.
  template <class Filter>
  bool drop(const Filter& filter) {
    for (std::uint32_t i = open_.size(); i-- > 0;) {
      open_.keep(i, open_.layers_where(open_[i], [&](std::uint64_t count) { return filter.keeps(count); }),
                 [&](const String& string, const Steps* counts) { list_counted(string, counts); });
    }
    if (entries_.empty()) return true;
    for (std::uint32_t i = 0; i < open_.size(); ++i)
      list_counted(open_[i], open_[i].is_even() ? nullptr : &open_.array(open_[i]));
    std::sort(entries_.begin(), entries_.end());
    return false;
  }
  void list_counted(const String& string, const Steps* counts) {
    for (std::uint32_t layer = open_.lowest(string); layer <= string.left_bases; ++layer) {
      entries_.push_back({layer, flanks_at(string.left, string.right, layer, n_),
                          counts == nullptr ? string.each : (*counts)[layer]});
    }
  }

  static constexpr std::size_t kLeastListed = 4096;
  /// Most super-k-mers are in the first strings, or in none: when there are too many, only these are
  /// compared.
  static constexpr std::uint32_t kComparedWhileListing = 16;
  static_assert(kComparedWhileListing <= Open::kMostStrings);

  std::uint32_t n_;
  PathCover<Flanks> cover_;
  Open open_;
  std::array<Match, Open::kMostStrings> match_;
  std::uint32_t matches_ = 0;
  std::vector<WeighedKmer> entries_;  ///< k-mers that strings have no room for
  std::vector<Flanks> flanks_;
  std::vector<std::uint64_t> counts_;
  std::vector<std::uint32_t> layer_begins_;
};

}  // namespace warpmer::groups
