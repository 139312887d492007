#pragma once
/// Strings of a group that have no k-mer in common, under way to those that its cover has.
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

#include "groups/flanked_kmer.h"
#include "groups/path_cover.h"
#include "groups/shard_layout.h"
#include "groups/string_lookup.h"

namespace warpmer::groups {

/// Returns the layers from `lowest` to `highest` as bits of a word.
[[nodiscard]] constexpr std::uint64_t layer_bits(std::uint32_t lowest, std::uint32_t highest) {
  return (~std::uint64_t{0} >> (63 - (highest - lowest))) << lowest;
}
/// Returns the highest layer of the lowest stretch of consecutive ones.
[[nodiscard]] constexpr std::uint32_t end_of_stretch(std::uint64_t layers) {
  const std::uint32_t lowest = trailing_zeros(layers);
  return lowest + static_cast<std::uint32_t>(std::countr_one(layers >> lowest)) - 1;
}

/// As many strings as a group has that is not large. One per thread; its memory is reused.
template <class Flanks>
class OpenStrings {
 public:
  static constexpr std::uint32_t kMostStrings = kMostInlineStrings;
  static constexpr std::uint32_t kMostLayers = kMaxK;
  static_assert(kMostStrings <= 64 && kMostLayers <= 64, "strings and layers are bits of a word");
  /// Counts by layer.
  using Counts = std::array<std::uint64_t, kMostLayers>;

  /// The counts of a string's k-mers are `each`, or in an array of its own.
  struct String {
    Flanks left, right;
    std::uint8_t left_bases, right_bases;
    std::uint8_t counts;  ///< number of the array, or kEven
    std::uint64_t each;
    [[nodiscard]] bool is_even() const { return counts == kEven; }
    [[nodiscard]] bool is_none() const { return left_bases == kNone; }
    static constexpr std::uint8_t kNone = 255;
  };
  static constexpr std::uint8_t kEven = 255;

  explicit OpenStrings(std::uint32_t flank_bases) : n_(flank_bases) {}

  void clear() {
    size_ = 0;
    free_ = ~std::uint64_t{0};
  }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] bool is_full() const { return size_ == kMostStrings; }
  [[nodiscard]] String& operator[](std::uint32_t i) { return strings_[i]; }
  [[nodiscard]] const String& operator[](std::uint32_t i) const { return strings_[i]; }
  /// Returns the lowest layer of a string.
  [[nodiscard]] std::uint32_t lowest(const String& string) const { return n_ - string.right_bases; }
  [[nodiscard]] std::uint64_t layers_of(const String& string) const {
    return layer_bits(lowest(string), string.left_bases);
  }

  /// Appends a string; there must be room.
  template <class Super>
  String& add(const Super& super, std::uint64_t each) {
    return strings_[size_++] = {super.left,
                                super.right,
                                static_cast<std::uint8_t>(super.left_bases),
                                static_cast<std::uint8_t>(super.right_bases),
                                kEven,
                                each};
  }
  /// Gives a string that is even an array, of any content.
  Counts& take_counts(String& string) {
    string.counts = static_cast<std::uint8_t>(trailing_zeros(free_));
    free_ &= free_ - 1;
    return arrays_[string.counts];
  }
  /// Returns the array of a string that is not even.
  [[nodiscard]] Counts& array(const String& string) { return arrays_[string.counts]; }
  [[nodiscard]] const Counts& array(const String& string) const { return arrays_[string.counts]; }
  /// Returns the array of any string, whose counts may be different from now on.
  Counts& counts_of(String& string) {
    if (string.is_even()) {
      Counts& counts = take_counts(string);
      std::fill_n(counts.begin(), n_ + 1, string.each);
    }
    return arrays_[string.counts];
  }
  [[nodiscard]] std::uint64_t count(const String& string, std::uint32_t layer) const {
    return string.is_even() ? string.each : arrays_[string.counts][layer];
  }

  /// Returns the layers of a string's k-mers with such counts.
  template <class Wanted>
  [[nodiscard]] std::uint64_t layers_where(const String& string, Wanted&& wanted) const {
    if (string.is_even()) return wanted(string.each) ? layers_of(string) : 0;
    std::uint64_t layers = 0;
    for (std::uint32_t layer = lowest(string); layer <= string.left_bases; ++layer)
      layers |= std::uint64_t{wanted(arrays_[string.counts][layer])} << layer;
    return layers;
  }

  /// Keeps those of a string's k-mers that are in `layers`, and no others. More stretches than one become
  /// strings behind all others; those that there is no room for go to `overflow(string, counts)`, with its
  /// counts by layer, or null. When none is kept the last string moves to this one's place.
  template <class Overflow>
  void keep(std::uint32_t i, std::uint64_t layers, Overflow&& overflow) {
    const String whole = strings_[i];
    layers &= layers_of(whole);
    if (layers == layers_of(whole)) return;
    if (layers == 0) {
      if (!whole.is_even()) free_ |= std::uint64_t{1} << whole.counts;
      strings_[i] = strings_[--size_];
      return;
    }
    bool is_first = true;
    for (; layers != 0; is_first = false) {
      const std::uint32_t from = trailing_zeros(layers), to = end_of_stretch(layers);
      layers &= ~layer_bits(from, to);
      const String part = part_of(whole, from, to);
      if (is_first) {
        strings_[i] = part;
      } else if (is_full()) {
        overflow(part, whole.is_even() ? nullptr : &arrays_[whole.counts]);
      } else {
        append(part, whole.is_even() ? nullptr : &arrays_[whole.counts]);
      }
    }
  }
  /// Appends a string of others, with its counts by layer, or null where it is even; there must be room.
  void append(const String& string, const Counts* counts) {
    String& here = strings_[size_++] = string;
    if (counts == nullptr) return;
    Counts& mine = take_counts(here);
    for (std::uint32_t layer = lowest(string); layer <= string.left_bases; ++layer)
      mine[layer] = (*counts)[layer];
  }

  /// Makes all counts of a string the same.
  void set_even(String& string, std::uint64_t each) {
    if (!string.is_even()) free_ |= std::uint64_t{1} << string.counts;
    string.counts = kEven;
    string.each = each;
  }

  /// Appends the strings as they are, as `finish` does those of the cover.
  std::uint64_t write(std::vector<GroupString<Flanks>>& strings, std::vector<std::uint64_t>& counts) const {
    std::uint64_t kmers = 0;
    for (std::uint32_t i = 0; i < size_; ++i) {
      if (strings_[i].is_none()) continue;
      write(strings_[i], strings, counts);
      kmers += strings.back().kmers(n_);
    }
    return kmers;
  }
  /// Appends the strings of the cover to `strings`, in their order, and the counts of those that have
  /// different ones to `counts`, as PathCover::cover does. Returns the number of k-mers. Only `clear` may
  /// follow.
  std::uint64_t finish(std::vector<GroupString<Flanks>>& strings, std::vector<std::uint64_t>& counts) {
    const std::size_t first = strings.size();
    if (size_ > 1) {
      find_crossings();
      for (const Crossing& crossing : crossings_) join(crossing);
    }
    const std::uint64_t kmers = write(strings, counts);
    if (strings.size() - first > 1)
      std::sort(strings.begin() + static_cast<std::ptrdiff_t>(first), strings.end(), is_before<Flanks>);
    return kmers;
  }

  /// Returns how many bases two strings around one minimizer have in common on both sides of it.
  struct Overlap {
    std::uint32_t left, right;
  };
  template <class A, class B>
  [[nodiscard]] static Overlap compare(const A& a, const B& b) {
    return {common_bases(a.left, b.left, std::min<std::uint32_t>(a.left_bases, b.left_bases)),
            common_bases(a.right, b.right, std::min<std::uint32_t>(a.right_bases, b.right_bases))};
  }

 private:
  /// A place between layers `upper` and `upper` - 1 where strings share k - 1 bases. Members are bits.
  struct Crossing {
    std::uint32_t upper;
    std::uint64_t members;
    bool operator<(const Crossing& other) const { return upper < other.upper; }
  };

  [[nodiscard]] String part_of(const String& string, std::uint32_t lowest, std::uint32_t highest) const {
    String part = string;
    part.left = static_cast<Flanks>(string.left & key_mask<Flanks>(highest));
    part.right = static_cast<Flanks>(string.right & key_mask<Flanks>(n_ - lowest));
    part.left_bases = static_cast<std::uint8_t>(highest);
    part.right_bases = static_cast<std::uint8_t>(n_ - lowest);
    return part;
  }

  void write(const String& string, std::vector<GroupString<Flanks>>& strings,
             std::vector<std::uint64_t>& counts) const {
    GroupString<Flanks>& path =
        strings.emplace_back(GroupString<Flanks>{string.left_bases, string.right_bases, string.left,
                                                 string.right, string.each, string.each, counts.size()});
    if (string.is_even()) return;
    const Counts& by_layer = arrays_[string.counts];
    const std::uint32_t kmers = path.kmers(n_);
    counts.resize(counts.size() + kmers);
    std::uint64_t* out = counts.data() + path.first_count;
    std::uint64_t smallest = UINT64_MAX, largest = 0;
    for (std::uint32_t i = 0; i < kmers; ++i) {
      const std::uint64_t count = by_layer[string.left_bases - i];
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
        const std::uint64_t mine = count(strings_[i], layer), its = count(strings_[other], layer);
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
  void swap_tails(String& a, String& b, std::uint32_t upper) {
    const std::uint32_t a_lowest = n_ - a.right_bases, b_lowest = n_ - b.right_bases;
    const bool a_has_tail = a_lowest < upper, b_has_head = b.left_bases >= upper;
    if (!a.is_even() || !b.is_even() || a.each != b.each) {
      Counts &a_counts = counts_of(a), &b_counts = counts_of(b);
      for (std::uint32_t layer = std::min(a_lowest, b_lowest); layer < upper; ++layer)
        std::swap(a_counts[layer], b_counts[layer]);
    }
    std::swap(a.right, b.right);
    std::swap(a.right_bases, b.right_bases);
    if (!a_has_tail && !b_has_head) b.left_bases = String::kNone;
  }

  std::uint32_t n_;
  std::uint32_t size_ = 0;
  std::array<String, kMostStrings> strings_;
  std::array<Counts, kMostStrings> arrays_;
  std::uint64_t free_ = ~std::uint64_t{0};  ///< arrays that no string has
  std::vector<Crossing> crossings_;
};

}  // namespace warpmer::groups
