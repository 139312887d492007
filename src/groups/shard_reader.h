#pragma once
/// A shard back into its k-mers, group by group.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "groups/flanked_kmer.h"
#include "groups/shard_bits.h"

namespace warpmer::groups {

template <class Flanks>
class GroupCursor;

/// The k-mers of a group with their counts, in order of layer and flanks.
template <class Flanks>
class GroupKmers {
 public:
  explicit GroupKmers(std::uint32_t flank_bases)
      : n_(flank_bases), layer_begins_(flank_bases + 2), layer_ends_(flank_bases + 1) {}

  void clear() {
    strings_.clear();
    large_ = nullptr;
    kmers_ = 0;
  }
  /// Takes the k-mers of the group that a cursor is at, in the place of others. A large one's strings, which
  /// may be millions, are not kept: what follows reads them again, and the cursor has to stay there.
  void take(const GroupCursor<Flanks>& group) {
    clear();
    if (group.is_large()) {
      large_ = &group;
      for_each_string([&](FlankLengths lengths, Flanks, Flanks, const StringCounts&) {
        kmers_ += lengths.bases() - n_ + 1;
      });
    } else {
      group.for_each_string([&](FlankLengths lengths, Flanks left, Flanks right, const StringCounts& counts) {
        add(lengths, left, right, counts);
      });
    }
  }
  /// Adds the k-mers of a string.
  void add(FlankLengths lengths, Flanks left, Flanks right, const StringCounts& counts) {
    strings_.push_back({lengths, left, right, counts});
    kmers_ += lengths.bases() - n_ + 1;
  }
  /// Returns their number.
  [[nodiscard]] std::size_t size() const { return kmers_; }

  /// Writes all of them, in order: a number made of each, and its count. `lowest(layer, flanks)` makes the
  /// number of the lowest layer of a string. From layer to layer a base is shifted out at its lower end, and
  /// the next base of the left flank comes in at bit `top`. `finish(number, layer)` is what is written; in a
  /// layer it must be in the order of flanks.
  template <class Number, class Lowest, class Finish>
  void write(Number* numbers, std::uint64_t* counts, std::uint32_t top, Lowest&& lowest, Finish&& finish) {
    if (strings_.size() == 1) {  // then there is one in each layer
      visit(strings_.front(), top, lowest, [&](const auto& number, std::uint32_t layer, std::uint64_t count) {
        *numbers++ = finish(number, layer);
        *counts++ = count;
      });
      return;
    }
    find_layers();
    std::copy(layer_begins_.begin(), layer_begins_.end() - 1, layer_ends_.begin());
    for_each_string([&](FlankLengths lengths, Flanks left, Flanks right, const StringCounts& string_counts) {
      visit({lengths, left, right, string_counts}, top, lowest,
            [&](const auto& number, std::uint32_t layer, std::uint64_t count) {
              const std::uint32_t at = layer_ends_[layer]++;
              numbers[at] = finish(number, layer);
              counts[at] = count;
            });
    });
    for (std::uint32_t layer = 0; layer <= n_; ++layer) {
      const std::uint32_t begin = layer_begins_[layer], end = layer_begins_[layer + 1];
      if (end - begin > 1) sort_layer(numbers + begin, counts + begin, end - begin);
    }
  }

  /// Puts them in order. Only then are there any of the following.
  void sort() {
    flanks_.resize(kmers_);
    counts_.resize(kmers_);
    find_layers();
    write(
        flanks_.data(), counts_.data(), 2 * (n_ - 1), [](std::uint32_t, Flanks flanks) { return flanks; },
        [](Flanks flanks, std::uint32_t) { return flanks; });
  }
  [[nodiscard]] const std::vector<Flanks>& flanks() const { return flanks_; }
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }
  /// Returns n + 2 numbers: where the k-mers of each layer begin, and the end.
  [[nodiscard]] const std::uint32_t* layer_begins() const { return layer_begins_.data(); }

 private:
  struct DecodedString {
    FlankLengths lengths;
    Flanks left, right;
    StringCounts counts;
  };
  /// Up to so many are sorted by insertion.
  static constexpr std::uint32_t kFewKmers = 32;

  /// Calls `visit` as GroupCursor::for_each_string does.
  template <class Visit>
  void for_each_string(Visit&& visit) const {
    if (large_ != nullptr) return large_->for_each_string(visit);
    for (const DecodedString& string : strings_)
      visit(string.lengths, string.left, string.right, string.counts);
  }

  void find_layers() {
    std::fill(layer_begins_.begin(), layer_begins_.end(), 0);
    for_each_string([&](FlankLengths lengths, Flanks, Flanks, const StringCounts&) {
      for (std::uint32_t layer = n_ - lengths.right; layer <= lengths.left; ++layer)
        ++layer_begins_[layer + 1];
    });
    for (std::uint32_t layer = 0; layer <= n_; ++layer) layer_begins_[layer + 1] += layer_begins_[layer];
  }

  /// Calls `visit(number, layer, count)` for the k-mers of a string, from its lowest layer up.
  template <class Lowest, class Visit>
  void visit(const DecodedString& string, std::uint32_t top, Lowest&& lowest, Visit&& visit) const {
    const std::uint32_t first = n_ - string.lengths.right, last = string.lengths.left;
    auto number = lowest(first, flanks_at(string.left, string.right, first, n_));
    using Number = decltype(number);
    Flanks left = first == last ? 0 : string.left >> (2 * first);
    const auto visit_all = [&](auto&& count_of) {
      for (std::uint32_t layer = first;; ++layer) {
        visit(number, layer, count_of(last - layer));
        if (layer == last) return;
        number = static_cast<Number>((number >> 2) | (static_cast<Number>(left & 3) << top));
        left >>= 2;
      }
    };
    const StringCounts& counts = string.counts;
    if (counts.bits == 0) {
      visit_all([&](std::uint32_t) { return counts.smallest; });
    } else {
      visit_all([&](std::uint32_t i) { return counts[i]; });
    }
  }

  template <class Number>
  void sort_layer(Number* numbers, std::uint64_t* counts, std::uint32_t n) {
    if (n > kFewKmers) {
      sort_many(numbers, counts, n);
      return;
    }
    for (std::uint32_t next = 1; next < n; ++next) {
      const Number number = numbers[next];
      const std::uint64_t count = counts[next];
      std::uint32_t at = next;
      for (; at > 0 && number < numbers[at - 1]; --at) {
        numbers[at] = numbers[at - 1];
        counts[at] = counts[at - 1];
      }
      numbers[at] = number;
      counts[at] = count;
    }
  }
  template <class Number>
  static void sort_many(Number* numbers, std::uint64_t* counts, std::uint32_t n) {
    std::vector<std::pair<Number, std::uint64_t>> entries(n);
    for (std::uint32_t i = 0; i < n; ++i) entries[i] = {numbers[i], counts[i]};
    std::sort(entries.begin(), entries.end());
    for (std::uint32_t i = 0; i < n; ++i) std::tie(numbers[i], counts[i]) = entries[i];
  }

  std::uint32_t n_;
  std::size_t kmers_ = 0;
  std::vector<DecodedString> strings_;
  const GroupCursor<Flanks>* large_ = nullptr;  ///< at a large group, which is in the place of strings
  std::vector<std::uint32_t> layer_begins_, layer_ends_;
  std::vector<Flanks> flanks_;
  std::vector<std::uint64_t> counts_;
};

/// Goes through the groups of a shard in increasing order of their ids.
template <class Flanks>
class GroupCursor {
 public:
  /// Begins with the first group of a bucket, or of the next that has one.
  explicit GroupCursor(const ShardBits& shard, std::uint64_t first_bucket = 0)
      : shard_(shard), bucket_(first_bucket) {
    next();
  }

  /// False behind the last group. Only while it is true there are any of the following.
  [[nodiscard]] bool has_group() const { return at_ < groups_.size(); }
  /// True when it has more strings than a bucket holds of one.
  [[nodiscard]] bool is_large() const { return strings_[groups_[at_].first_string].lengths.is_large(); }
  /// Returns the id of the group below the shard's number.
  [[nodiscard]] std::uint32_t rest() const { return groups_[at_].rest; }
  void next() {
    ++at_;
    while (at_ >= groups_.size() && bucket_ < shard_.layout.buckets) open_bucket();
  }

  /// Calls `visit(lengths, left, right, counts)` for each string of the group, in their order; counts are a
  /// StringCounts.
  template <class Visit>
  void for_each_string(Visit&& visit) const {
    const GroupPlace& group = groups_[at_];
    if (is_large()) {
      visit_large({shard_.words, group.bases_at}, visit);
    } else {
      visit_strings(group, visit);
    }
  }
  /// Does so where they are at most `most`, which no large group's are; else returns false.
  template <class Visit>
  bool for_strings_up_to(std::uint32_t most, Visit&& visit) const {
    const GroupPlace& group = groups_[at_];
    if (group.strings > most || is_large()) return false;
    visit_strings(group, visit);
    return true;
  }

 private:
  struct StringPlace {
    FlankLengths lengths;
    StringCounts counts;
  };
  struct GroupPlace {
    std::uint32_t rest, first_string, strings;
    std::uint64_t bases_at;
  };

  template <class Visit>
  void visit_strings(const GroupPlace& group, Visit& visit) const {
    const StringPlace* const first = strings_.data() + group.first_string;
    BitCursor bases{shard_.words, group.bases_at};
    for (std::uint32_t i = 0; i < group.strings; ++i) {
      const FlankLengths lengths = first[i].lengths;
      const Flanks left = bases.read_flank<Flanks>(lengths.left);
      const Flanks right = bases.read_flank<Flanks>(lengths.right);
      visit(lengths, left, right, first[i].counts);
    }
  }
  template <class Visit>
  void visit_large(BitCursor number, Visit& visit) const {
    const LargeGroup large(shard_,
                           shard_.part(shard_.layout.buckets + number.read(shard_.layout.large_bits)));
    BitCursor bases{shard_.words, large.bases_at}, codes{shard_.words, large.counts_at};
    for (std::uint64_t i = 0; i < large.strings; ++i) {
      const FlankLengths lengths = large.lengths_of(shard_, i);
      const Flanks left = bases.read_flank<Flanks>(lengths.left);
      const Flanks right = bases.read_flank<Flanks>(lengths.right);
      visit(lengths, left, right, StringCounts::read(codes, shard_.kmers(lengths)));
    }
  }

  /// Finds the groups and strings of the next bucket.
  void open_bucket() {
    groups_.clear();
    at_ = 0;
    const Bucket bucket(shard_, shard_.part(bucket_));
    strings_.resize(bucket.strings);
    std::uint64_t bases_at = bucket.bases_at, codes_at = bases_at;
    BitCursor lengths{shard_.words, bucket.lengths_at};
    for (StringPlace& string : strings_) {
      string.lengths = shard_.lengths[lengths.read(shard_.layout.length_bits)];
      codes_at += shard_.base_bits(string.lengths);
    }
    const std::uint64_t first = shard_.layout.first_of(bucket_++);
    BitCursor codes{shard_.words, codes_at}, remainders{shard_.words, bucket.remainders_at};
    std::uint64_t flags = bucket.flags;
    for (std::uint32_t i = 0; i < bucket.strings; ++i, flags >>= 1) {
      if (i % 64 == 0 && i > 0) flags = read_bits<std::uint64_t>(shard_.words, bucket.flags_at + i, 64);
      if ((flags & 1) != 0) {
        const auto rest = static_cast<std::uint32_t>(first + remainders.read(shard_.layout.remainder_bits));
        groups_.push_back({rest, i, 0, bases_at});
      }
      ++groups_.back().strings;
      StringPlace& string = strings_[i];
      bases_at += shard_.base_bits(string.lengths);
      if (!string.lengths.is_large()) string.counts = StringCounts::read(codes, shard_.kmers(string.lengths));
    }
    if (groups_.size() > 1) {
      std::sort(groups_.begin(), groups_.end(),
                [](const GroupPlace& a, const GroupPlace& b) { return a.rest < b.rest; });
    }
  }

  ShardBits shard_;
  std::uint64_t bucket_;
  std::vector<StringPlace> strings_;  ///< of a bucket
  std::vector<GroupPlace> groups_;    ///< of it, in order of their ids
  std::size_t at_ = 0;
};

/// Calls `visit(rest, kmers)` for each group of a shard with an id in [first, end), in order of their ids:
/// `kmers` is a GroupKmers, not yet sorted, until the call returns. A large group of more than `most` k-mers
/// comes in parts of about so many, some of its strings each.
template <class Flanks, class Visit>
void for_each_group(const ShardBits& shard, std::uint64_t first, std::uint64_t end, GroupKmers<Flanks>& kmers,
                    Visit&& visit, std::size_t most = SIZE_MAX) {
  for (GroupCursor<Flanks> group(shard, shard.layout.bucket_of(first)); group.has_group(); group.next()) {
    if (group.rest() < first) continue;
    if (group.rest() >= end) break;
    kmers.take(group);
    if (kmers.size() <= most || !group.is_large()) {
      visit(group.rest(), kmers);
      continue;
    }
    kmers.clear();
    group.for_each_string([&](FlankLengths lengths, Flanks left, Flanks right, const StringCounts& counts) {
      if (kmers.size() >= most) {
        visit(group.rest(), kmers);
        kmers.clear();
      }
      kmers.add(lengths, left, right, counts);
    });
    visit(group.rest(), kmers);
  }
}
/// Does so for all groups, and sorts their k-mers.
template <class Flanks, class Visit>
void for_each_group(const ShardBits& shard, GroupKmers<Flanks>& kmers, Visit&& visit) {
  for_each_group(shard, 0, UINT64_MAX, kmers, [&](std::uint32_t rest, GroupKmers<Flanks>& group) {
    group.sort();
    visit(rest, std::as_const(group));
  });
}

}  // namespace warpmer::groups
