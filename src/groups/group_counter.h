#pragma once
/// Counting a group: super-k-mers in, strings with counts out, the same that a PathCover of the k-mers gives.
///
/// Most super-k-mers of a group are parts of one string, because they come from one place of a genome. So a
/// group is counted in strings from the start: a super-k-mer is compared with those that are there, and what
/// it has in common with one is added to that one's counts for a whole stretch of layers at once. What is
/// left is a string of its own. No k-mer is ever in two strings; only where they end depends on the order in
/// which super-k-mers came, and is put right in the end.
///
/// Two strings without a common k-mer share k - 1 bases in at most one place: with a equal bases to the left
/// and b to the right, a + b = n - 1, that is between layers a + 1 and a. So a comparison of each with each
/// finds all places where strings may be joined in another way.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/error.h"
#include "groups/flanked_kmer.h"
#include "groups/path_cover.h"
#include "groups/shard_layout.h"
#include "groups/string_lookup.h"

namespace warpmer::groups {

/// What a GroupCounter does with the counts of a group before it makes strings: here nothing, and it keeps
/// all.
struct KeepAll {
  /// Takes note of so many k-mers that occurred `count` times each; or of `n` k-mers, each with its count.
  void note(std::uint64_t /*count*/, std::uint64_t /*kmers*/) const {}
  void note(const std::uint64_t* /*counts*/, std::size_t /*n*/) const {}
  /// True when `keeps` is for every count.
  [[nodiscard]] static constexpr bool keeps_all() { return true; }
  [[nodiscard]] static constexpr bool keeps(std::uint64_t /*count*/) { return true; }
};

/// Counts one group after the other. One per thread; its memory is reused.
template <class Flanks>
class GroupCounter {
 public:
  explicit GroupCounter(std::uint32_t flank_bases) : n_(flank_bases), cover_(flank_bases) {}

  /// Begins a group, whatever was added before.
  void begin() {
    size_ = used_steps_ = 0;
    entries_.clear();
  }

  /// Adds the k-mers of a super-k-mer of the group, each `times`.
  void add(const FlankedSuperKmer<Flanks>& super, std::uint64_t times) {
    // K-mers that are listed may be in strings as well: they come together in the end.
    const bool is_listing = !entries_.empty();
    const std::uint32_t compared = is_listing ? kComparedWhileListing : size_;
    std::uint64_t left = layers(n_ - super.right_bases, super.left_bases);
    matches_ = 0;
    for (std::uint32_t i = 0; i < compared; ++i) {
      const Overlap overlap = compare(strings_[i], super);
      if (overlap.left + overlap.right < n_) continue;
      const std::uint32_t lowest = n_ - overlap.right, highest = overlap.left;
      add_to(strings_[i], lowest, highest, times);
      left &= ~layers(lowest, highest);
      if (left == 0) {
        // The string that most super-k-mers match moves to the front.
        if (i > 0) std::swap(strings_[i], strings_[i - 1]);
        return;
      }
      match_[matches_++] = {i, lowest, highest};
    }
    while (left != 0) {
      const std::uint32_t lowest = trailing_zeros(left);
      const std::uint32_t highest = lowest + static_cast<std::uint32_t>(std::countr_one(left >> lowest)) - 1;
      left &= ~layers(lowest, highest);
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
  /// says which k-mers are kept.
  template <class Filter = KeepAll>
  std::uint64_t finish(std::vector<GroupString<Flanks>>& strings, std::vector<std::uint64_t>& counts,
                       Filter&& filter = {}) {
    std::uint64_t kmers = 0;
    if (!entries_.empty()) {
      list_strings();
      sum_entries(filter);
      kmers = finish_entries(strings, counts);
    } else if (sum_strings(filter)) {
      kmers = finish_strings(strings, counts);
    } else {
      kmers = finish_entries(strings, counts);
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
  static constexpr std::uint32_t kMostStrings = kMostInlineStrings;
  static constexpr std::uint32_t kMostLayers = kMaxK;

  /// A string under way. While everything that came covered all of it, its counts are equal, `each`; from
  /// then on the count of a layer is the sum of its `steps_` from there up.
  struct OpenString {
    Flanks left, right;
    std::uint8_t left_bases, right_bases;
    std::uint8_t steps;  ///< their number, or kEven
    std::uint64_t each;
    [[nodiscard]] bool is_even() const { return steps == kEven; }
    [[nodiscard]] bool is_none() const { return left_bases == kNone; }
    static constexpr std::uint8_t kNone = 255;
  };
  static constexpr std::uint8_t kEven = 255;
  static_assert(kMostStrings <= 64 && kMostLayers <= 64, "strings and layers are bits of a word");
  using Steps = std::array<std::uint64_t, kMostLayers>;
  static void add_steps(Steps& steps, std::uint32_t lowest, std::uint32_t highest, std::uint64_t times) {
    steps[highest] += times;
    if (lowest > 0) steps[lowest - 1] -= times;
  }
  struct Overlap {
    std::uint32_t left, right;
  };
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

  [[nodiscard]] static std::uint64_t layers(std::uint32_t lowest, std::uint32_t highest) {
    return (~std::uint64_t{0} >> (63 - (highest - lowest))) << lowest;
  }
  template <class A, class B>
  [[nodiscard]] static Overlap compare(const A& a, const B& b) {
    return {common_bases(a.left, b.left, std::min<std::uint32_t>(a.left_bases, b.left_bases)),
            common_bases(a.right, b.right, std::min<std::uint32_t>(a.right_bases, b.right_bases))};
  }
  /// Returns the k-mers of some layers of a super-k-mer.
  [[nodiscard]] FlankedSuperKmer<Flanks> part(const FlankedSuperKmer<Flanks>& super, std::uint32_t lowest,
                                              std::uint32_t highest) const {
    return {super.mmer, highest, n_ - lowest, static_cast<Flanks>(super.left & key_mask<Flanks>(highest)),
            static_cast<Flanks>(super.right & key_mask<Flanks>(n_ - lowest))};
  }

  void add_to(OpenString& string, std::uint32_t lowest, std::uint32_t highest, std::uint64_t times) {
    if (string.is_even()) {
      if (highest == string.left_bases && lowest == n_ - string.right_bases) {
        string.each += times;
        return;
      }
      make_uneven(string);
    }
    add_steps(steps_[string.steps], lowest, highest, times);
  }
  void make_uneven(OpenString& string) {
    string.steps = static_cast<std::uint8_t>(used_steps_++);
    Steps& steps = steps_[string.steps];
    std::fill_n(steps.begin(), n_ + 1, 0);
    add_steps(steps, n_ - string.right_bases, string.left_bases, string.each);
  }

  /// Puts k-mers that no string has behind or before one that they overlap, or into one of their own. Returns
  /// false where there are too many strings.
  bool place(const FlankedSuperKmer<Flanks>& super, std::uint32_t lowest, std::uint32_t highest,
             std::uint64_t times) {
    const FlankedSuperKmer<Flanks> here = part(super, lowest, highest);
    for (std::uint32_t m = 0; m < matches_; ++m) {
      OpenString& string = strings_[match_[m].string];
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
      add_steps(steps_[string.steps], lowest, highest, times);
      return true;
    }
    if (size_ == kMostStrings) return false;
    strings_[size_++] = {here.left,
                         here.right,
                         static_cast<std::uint8_t>(here.left_bases),
                         static_cast<std::uint8_t>(here.right_bases),
                         kEven,
                         times};
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
    if (entries_.size() + kMostLayers <= entries_.capacity()) return;
    reduce();
    if (entries_.size() + kMostLayers <= entries_.capacity() / 3 * 2) return;
    entries_.reserve(std::max(kLeastListed, entries_.capacity() / 2 * 3));
  }
  void list_strings() {
    for (std::uint32_t i = 0; i < size_; ++i) {
      make_room();
      OpenString& string = strings_[i];
      if (string.is_even()) make_uneven(string);
      std::uint64_t count = 0;
      for (std::uint32_t layer = string.left_bases + 1u; layer-- > n_ - string.right_bases;) {
        count += steps_[string.steps][layer];
        entries_.push_back({layer, flanks_at(string.left, string.right, layer, n_), count});
      }
    }
    size_ = used_steps_ = 0;
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

  // Joining strings as a path cover does.

  /// A place between layers `upper` and `upper` - 1 where strings share k - 1 bases. Members are bits.
  struct Crossing {
    std::uint32_t upper;
    std::uint64_t members;
    bool operator<(const Crossing& other) const { return upper < other.upper; }
  };
  /// Makes counts of steps, and drops k-mers that are not kept. False when what is left is more strings than
  /// there is room for: it is listed instead.
  template <class Filter>
  bool sum_strings(Filter& filter) {
    for (std::uint32_t i = 0; i < size_; ++i) {
      OpenString& string = strings_[i];
      const std::uint32_t lowest = n_ - string.right_bases;
      const std::size_t kmers = string.left_bases + 1u - lowest;
      if (string.is_even()) {
        filter.note(string.each, kmers);
        continue;
      }
      Steps& steps = steps_[string.steps];
      std::uint64_t count = 0;
      for (std::uint32_t layer = string.left_bases + 1u; layer-- > lowest;)
        steps[layer] = count += steps[layer];
      filter.note(steps.data() + lowest, kmers);
    }
    return filter.keeps_all() || drop(filter);
  }
  /// Cuts strings where k-mers are not kept: what is left has no k-mer twice, as before.
  template <class Filter>
  bool drop(const Filter& filter) {
    kept_.clear();
    kept_counts_.clear();
    for (std::uint32_t i = 0; i < size_; ++i) {
      const OpenString& string = strings_[i];
      if (string.is_even()) {
        if (filter.keeps(string.each)) kept_.push_back(string);
        continue;
      }
      const std::uint32_t lowest = n_ - string.right_bases;
      for (std::uint32_t end = string.left_bases + 1u; end > lowest;) {
        std::uint32_t begin = end;
        while (begin > lowest && filter.keeps(count(i, begin - 1))) --begin;
        if (begin < end) {
          kept_.push_back(part_of(string, begin, end - 1, n_));
          kept_counts_.push_back(steps_[string.steps]);
        }
        end = begin == end ? end - 1 : begin;
      }
    }
    if (kept_.size() > kMostStrings) {
      list_kept();
      return false;
    }
    size_ = static_cast<std::uint32_t>(kept_.size());
    used_steps_ = 0;
    for (std::uint32_t i = 0; i < size_; ++i) {
      strings_[i] = kept_[i];
      if (kept_[i].is_even()) continue;
      steps_[used_steps_] = kept_counts_[used_steps_];
      strings_[i].steps = static_cast<std::uint8_t>(used_steps_++);
    }
    return true;
  }
  static OpenString part_of(const OpenString& string, std::uint32_t lowest, std::uint32_t highest,
                            std::uint32_t flank_bases) {
    OpenString part = string;
    part.left = static_cast<Flanks>(string.left & key_mask<Flanks>(highest));
    part.right = static_cast<Flanks>(string.right & key_mask<Flanks>(flank_bases - lowest));
    part.left_bases = static_cast<std::uint8_t>(highest);
    part.right_bases = static_cast<std::uint8_t>(flank_bases - lowest);
    return part;
  }
  /// Lists the k-mers of the strings that are kept, in order.
  void list_kept() {
    std::size_t used = 0;
    for (const OpenString& string : kept_) {
      const Steps* counts = string.is_even() ? nullptr : &kept_counts_[used++];
      for (std::uint32_t layer = n_ - string.right_bases; layer <= string.left_bases; ++layer) {
        entries_.push_back({layer, flanks_at(string.left, string.right, layer, n_),
                            counts == nullptr ? string.each : (*counts)[layer]});
      }
    }
    std::sort(entries_.begin(), entries_.end());
  }

  std::uint64_t finish_strings(std::vector<GroupString<Flanks>>& strings,
                               std::vector<std::uint64_t>& counts) {
    std::uint64_t kmers = 0;
    for (std::uint32_t i = 0; i < size_; ++i)
      kmers += strings_[i].left_bases + strings_[i].right_bases - n_ + 1;
    const std::size_t first = strings.size();
    if (size_ > 1) {
      find_crossings();
      for (const Crossing& crossing : crossings_) join(crossing);
    }
    for (std::uint32_t i = 0; i < size_; ++i) {
      if (!strings_[i].is_none()) append(strings_[i], strings, counts);
    }
    if (strings.size() - first > 1)
      std::sort(strings.begin() + static_cast<std::ptrdiff_t>(first), strings.end(), is_before<Flanks>);
    return kmers;
  }
  [[nodiscard]] std::uint64_t count(std::uint32_t i, std::uint32_t layer) const {
    return strings_[i].is_even() ? strings_[i].each : steps_[strings_[i].steps][layer];
  }
  void append(const OpenString& string, std::vector<GroupString<Flanks>>& strings,
              std::vector<std::uint64_t>& counts) const {
    GroupString<Flanks>& path =
        strings.emplace_back(GroupString<Flanks>{string.left_bases, string.right_bases, string.left,
                                                 string.right, string.each, string.each, counts.size()});
    if (string.is_even()) return;
    const Steps& steps = steps_[string.steps];
    const std::uint32_t kmers = path.kmers(n_);
    counts.resize(counts.size() + kmers);
    std::uint64_t* out = counts.data() + path.first_count;
    std::uint64_t smallest = UINT64_MAX, largest = 0;
    for (std::uint32_t i = 0; i < kmers; ++i) {
      const std::uint64_t count = steps[string.left_bases - i];
      smallest = std::min(smallest, count);
      largest = std::max(largest, count);
      out[i] = count;
    }
    path.smallest_count = smallest;
    path.largest_count = largest;
    if (smallest == largest) counts.resize(path.first_count);
  }

  /// Finds all crossings, the lowest first.
  void find_crossings() {
    crossings_.clear();
    for (std::uint32_t i = 0; i < size_; ++i) {
      for (std::uint32_t j = i + 1; j < size_; ++j) {
        const Overlap overlap = compare(strings_[i], strings_[j]);
        if (overlap.left + overlap.right + 1 == n_)
          note_crossing(overlap.left + 1, std::uint64_t{1} << i | std::uint64_t{1} << j);
      }
    }
    std::sort(crossings_.begin(), crossings_.end());
  }
  void note_crossing(std::uint32_t upper, std::uint64_t members) {
    for (Crossing& crossing : crossings_) {
      if (crossing.upper != upper || (crossing.members & members) == 0) continue;
      crossing.members |= members;
      return;
    }
    crossings_.push_back({upper, members});
  }

  [[nodiscard]] bool has(std::uint32_t i, std::uint32_t layer) const {
    return layer <= strings_[i].left_bases && layer >= n_ - strings_[i].right_bases;
  }
  /// The k-mers of a crossing on one side of it, by string, the largest counts first, then the smallest
  /// flanks: they differ in one base alone.
  struct CrossingSide {
    std::uint32_t string[4], size = 0;
  };
  [[nodiscard]] CrossingSide side(const Crossing& crossing, std::uint32_t layer) const {
    CrossingSide side;
    const auto base = [&](std::uint32_t i) {
      return static_cast<std::uint32_t>(layer == crossing.upper
                                            ? strings_[i].left >> (2 * (layer - 1))
                                            : strings_[i].right >> (2 * (n_ - layer - 1))) &
             3;
    };
    for (std::uint64_t members = crossing.members; members != 0; members &= members - 1) {
      const std::uint32_t i = trailing_zeros(members);
      if (!has(i, layer)) continue;
      std::uint32_t at = side.size++;
      for (; at > 0; --at) {
        const std::uint32_t other = side.string[at - 1];
        const std::uint64_t mine = count(i, layer), its = count(other, layer);
        if (its > mine || (its == mine && base(other) < base(i))) break;
        side.string[at] = other;
      }
      side.string[at] = i;
    }
    return side;
  }
  /// Joins the k-mers above a crossing with those below it as the cover has them. Only what is below it moves
  /// from string to string, so that no crossing above it sees other strings than before.
  void join(const Crossing& crossing) {
    const CrossingSide upper = side(crossing, crossing.upper);
    CrossingSide lower = side(crossing, crossing.upper - 1);
    for (std::uint32_t i = 0; i < std::min(upper.size, lower.size); ++i) {
      const std::uint32_t a = upper.string[i], b = lower.string[i];
      if (a == b) continue;
      swap_tails(strings_[a], strings_[b], crossing.upper);
      for (std::uint32_t j = i + 1; j < lower.size; ++j) {
        if (lower.string[j] == a) lower.string[j] = b;
      }
    }
  }
  /// Exchanges what two strings have below layer `upper`: `a` may have nothing there, and `b` nothing else;
  /// then `b` is none afterwards. They have the same bases around that place.
  void swap_tails(OpenString& a, OpenString& b, std::uint32_t upper) {
    const std::uint32_t a_lowest = n_ - a.right_bases, b_lowest = n_ - b.right_bases;
    const bool a_has_tail = a_lowest < upper, b_has_head = b.left_bases >= upper;
    if (!a.is_even() || !b.is_even() || a.each != b.each) {
      Steps &a_counts = counts_of(a), &b_counts = counts_of(b);
      for (std::uint32_t layer = std::min(a_lowest, b_lowest); layer < upper; ++layer)
        std::swap(a_counts[layer], b_counts[layer]);
    }
    std::swap(a.right, b.right);
    std::swap(a.right_bases, b.right_bases);
    if (!a_has_tail && !b_has_head) b.left_bases = OpenString::kNone;
  }
  /// Returns the counts of a string, which may be different from now on.
  Steps& counts_of(OpenString& string) {
    if (string.is_even()) {
      string.steps = static_cast<std::uint8_t>(used_steps_++);
      std::fill_n(steps_[string.steps].begin(), n_ + 1, string.each);
    }
    return steps_[string.steps];
  }

  static constexpr std::size_t kLeastListed = 4096;
  /// Most super-k-mers are in the first strings, or in none: when there are too many, only these are
  /// compared.
  static constexpr std::uint32_t kComparedWhileListing = 16;
  static_assert(kComparedWhileListing <= kMostStrings);

  std::uint32_t n_;
  PathCover<Flanks> cover_;
  std::array<OpenString, kMostStrings> strings_;
  std::uint32_t size_ = 0;
  std::vector<OpenString> kept_;
  std::vector<Steps> kept_counts_;  ///< of those that are not even
  std::array<Steps, kMostStrings> steps_;
  std::uint32_t used_steps_ = 0;
  std::array<Match, kMostStrings> match_;
  std::uint32_t matches_ = 0;
  std::vector<Crossing> crossings_;
  std::vector<WeighedKmer> entries_;  ///< k-mers that strings have no room for
  std::vector<Flanks> flanks_;
  std::vector<std::uint64_t> counts_;
  std::vector<std::uint32_t> layer_begins_;
};

}  // namespace warpmer::groups
