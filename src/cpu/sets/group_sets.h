#pragma once
/// Set algebra on groups, a string at a time: what an operation makes of the k-mers that its inputs have
/// around one minimizer.
///
/// Two strings around one minimizer that agree on a bases to the left of it and b to the right have the
/// k-mers of layers n - b to a in common, and no others. So one comparison says of all their k-mers which are
/// in both. What an operation keeps of them are stretches of layers, strings again.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "backend/count_bounds.h"
#include "cpu/count/sorted_merge.h"
#include "groups/open_strings.h"
#include "groups/path_cover.h"
#include "groups/shard_reader.h"

namespace warpmer::cpu {

/// Appends the strings of a group as they are, with their counts, as PathCover::cover does: strings and their
/// order follow from k-mers and counts alone. `filter` takes note of these. Returns the number of k-mers.
template <class Flanks, class Filter>
std::uint64_t copy_group(const groups::GroupCursor<Flanks>& group, std::uint32_t flank_bases, Filter& filter,
                         std::vector<groups::GroupString<Flanks>>& strings,
                         std::vector<std::uint64_t>& string_counts) {
  std::uint64_t all = 0;
  group.for_each_string(
      [&](groups::FlankLengths lengths, Flanks left, Flanks right, const groups::StringCounts& counts) {
        const std::uint32_t kmers = lengths.bases() - flank_bases + 1;
        all += kmers;
        groups::GroupString<Flanks> string{lengths.left,    lengths.right,       left, right, counts.smallest,
                                           counts.smallest, string_counts.size()};
        if (counts.bits == 0) {
          filter.note(counts.smallest, kmers);
        } else {
          string_counts.resize(string.first_count + kmers);
          std::uint64_t* const to = string_counts.data() + string.first_count;
          for (std::uint32_t i = 0; i < kmers; ++i) {
            to[i] = counts[i];
            string.largest_count = std::max(string.largest_count, to[i]);
          }
          filter.note(to, kmers);
        }
        strings.push_back(string);
      });
  return all;
}

/// One group after the other. One per thread.
template <class Flanks>
class GroupSets {
  using Strings = groups::OpenStrings<Flanks>;

 public:
  using Group = groups::GroupCursor<Flanks>;

  /// With `counts_are_one`, all counts of inputs are taken for 1.
  GroupSets(std::uint32_t flank_bases, bool counts_are_one)
      : n_(flank_bases), counts_are_one_(counts_are_one), mine_(flank_bases), other_(flank_bases) {}

  void clear() {
    mine_.clear();
    is_as_read_ = true;
  }
  [[nodiscard]] bool is_empty() const { return mine_.size() == 0; }
  /// Returns true when a k-mer has such a count.
  [[nodiscard]] bool has_count(std::uint64_t wanted) const {
    for (std::uint32_t i = 0; i < mine_.size(); ++i) {
      if (mine_.layers_where(mine_[i], [&](std::uint64_t count) { return count == wanted; }) != 0)
        return true;
    }
    return false;
  }

  /// Takes the k-mers of a group, in the place of others, with counts in `bounds`. This and the following
  /// return false where there are more strings than there is room for; then only `clear` may follow.
  bool read(const Group& group, const backend::CountBounds& bounds) {
    is_as_read_ = true;
    return read(group, bounds, mine_, is_as_read_);
  }

  /// Makes of these k-mers and those of another group what merging sorted lists would (sorted_merge.h).
  template <Keep kKeep, class Combine>
  bool merge(const Group& group, const backend::CountBounds& bounds, Combine& combine) {
    bool is_as_read = true;
    if (!read(group, bounds, other_, is_as_read)) return false;
    std::fill_n(matched_.begin(), mine_.size(), 0);
    for (std::uint32_t j = 0; j < other_.size(); ++j) match<kKeep.both>(j, combine);
    bool has_room = true;
    const auto overflow = [&](const String&, const Counts*) { has_room = false; };
    for (std::uint32_t i = mine_.size(); i-- > 0;) {
      const std::uint64_t all = mine_.layers_of(mine_[i]);
      std::uint64_t layers = (kKeep.left_only ? all & ~matched_[i] : 0) | (kKeep.both ? matched_[i] : 0);
      if (kKeep.both && matched_[i] != 0)
        layers &= mine_.layers_where(mine_[i], [](std::uint64_t count) { return count != 0; });
      if (layers == all) continue;
      is_as_read_ = false;
      mine_.keep(i, layers, overflow);
    }
    return has_room && (!kKeep.right_only || take_other());
  }

  /// Appends the strings of the group and their counts, as PathCover::cover does. `filter` takes note of all
  /// counts, and says which k-mers are kept (see groups::KeepAll). Sets the number of k-mers.
  template <class Filter>
  bool finish(Filter& filter, std::vector<groups::GroupString<Flanks>>& strings,
              std::vector<std::uint64_t>& counts, std::uint64_t& kmers) {
    if (!filter.keeps_all() && stretches_kept(filter) > Strings::kMostStrings) return false;
    for (std::uint32_t i = 0; i < mine_.size(); ++i) {
      const String& string = mine_[i];
      const std::uint32_t lowest = mine_.lowest(string), n = string.left_bases + 1u - lowest;
      if (string.is_even()) {
        filter.note(string.each, n);
      } else {
        filter.note(mine_.array(string).data() + lowest, n);
      }
    }
    if (!filter.keeps_all()) {
      for (std::uint32_t i = mine_.size(); i-- > 0;) {
        const std::uint64_t layers = kept_layers(filter, mine_[i]);
        is_as_read_ &= layers == mine_.layers_of(mine_[i]);
        mine_.keep(i, layers, [](const String&, const Counts*) {});
      }
    }
    kmers = is_as_read_ ? mine_.write(strings, counts) : mine_.finish(strings, counts);
    return true;
  }

 private:
  using String = typename Strings::String;
  using Counts = typename Strings::Counts;

  bool read(const Group& group, const backend::CountBounds& bounds, Strings& out, bool& is_as_read) const {
    out.clear();
    const bool has_room = group.for_strings_up_to(
        Strings::kMostStrings,
        [&](groups::FlankLengths lengths, Flanks left, Flanks right, const groups::StringCounts& counts) {
          String& string = out.add(
              groups::FlankedSuperKmer<Flanks>{0, lengths.left, lengths.right, left, right}, counts.smallest);
          if (counts.bits == 0) return;
          Counts& by_layer = out.take_counts(string);
          const std::uint32_t kmers = lengths.bases() - n_ + 1;
          for (std::uint32_t i = 0; i < kmers; ++i) by_layer[lengths.left - i] = counts[i];
        });
    if (!has_room) return false;
    bool is_whole = true;
    if (!bounds.contains_all()) {
      for (std::uint32_t i = out.size(); i-- > 0;) {
        const std::uint64_t layers =
            out.layers_where(out[i], [&](std::uint64_t count) { return bounds.contains(count); });
        if (layers == out.layers_of(out[i])) continue;
        is_as_read = false;
        out.keep(i, layers, [&](const String&, const Counts*) { is_whole = false; });
      }
    }
    if (counts_are_one_) {
      is_as_read &= out.size() == 1;
      for (std::uint32_t i = 0; i < out.size(); ++i) out.set_even(out[i], 1);
    }
    return is_whole;
  }

  /// Finds what string `j` of the other group has in common with these, and combines the counts.
  template <bool kCombines, class Combine>
  void match(std::uint32_t j, Combine& combine) {
    const String& other = other_[j];
    std::uint64_t left = other_.layers_of(other);
    for (std::uint32_t i = 0; i < mine_.size() && left != 0; ++i) {
      const auto overlap = Strings::compare(mine_[i], other);
      if (overlap.left + overlap.right < n_) continue;
      const std::uint32_t lowest = n_ - overlap.right, highest = overlap.left;
      matched_[i] |= groups::layer_bits(lowest, highest);
      left &= ~groups::layer_bits(lowest, highest);
      if constexpr (kCombines) combine_counts(mine_[i], other, lowest, highest, combine);
    }
    other_left_[j] = left;
  }
  template <class Combine>
  void combine_counts(String& mine, const String& other, std::uint32_t lowest, std::uint32_t highest,
                      Combine& combine) {
    if (mine.is_even() && other.is_even()) {
      const std::uint64_t count = combine(mine.each, other.each);
      if (count == mine.each) return;
      is_as_read_ = false;
      if (lowest == mine_.lowest(mine) && highest == mine.left_bases) {
        mine.each = count;
        return;
      }
    }
    is_as_read_ = false;
    Counts& counts = mine_.counts_of(mine);
    for (std::uint32_t layer = lowest; layer <= highest; ++layer)
      counts[layer] = combine(counts[layer], other_.count(other, layer));
  }

  /// Adds what only the other group has.
  bool take_other() {
    bool has_room = true;
    for (std::uint32_t j = other_.size(); j-- > 0;)
      other_.keep(j, other_left_[j], [&](const String&, const Counts*) { has_room = false; });
    if (!has_room || mine_.size() + other_.size() > Strings::kMostStrings) return false;
    is_as_read_ &= other_.size() == 0;
    for (std::uint32_t j = 0; j < other_.size(); ++j)
      mine_.append(other_[j], other_[j].is_even() ? nullptr : &other_.array(other_[j]));
    return true;
  }

  template <class Filter>
  [[nodiscard]] std::uint64_t kept_layers(const Filter& filter, const String& string) const {
    return mine_.layers_where(string, [&](std::uint64_t count) { return filter.keeps(count); });
  }
  template <class Filter>
  [[nodiscard]] std::uint32_t stretches_kept(const Filter& filter) const {
    int stretches = 0;
    for (std::uint32_t i = 0; i < mine_.size(); ++i) {
      const std::uint64_t layers = kept_layers(filter, mine_[i]);
      stretches += std::popcount(layers & ~(layers << 1));
    }
    return static_cast<std::uint32_t>(stretches);
  }

  std::uint32_t n_;
  bool counts_are_one_;
  Strings mine_, other_;
  bool is_as_read_ = true;  ///< the strings are those of a cover, in their order
  std::array<std::uint64_t, Strings::kMostStrings> matched_;     ///< layers that the other group has, too
  std::array<std::uint64_t, Strings::kMostStrings> other_left_;  ///< layers that it alone has
};

}  // namespace warpmer::cpu
