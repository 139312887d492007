#pragma once
/// A shard back into its k-mers, group by group.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "groups/flanked_kmer.h"
#include "groups/shard_view.h"

namespace warpmer::groups {

/// The k-mers of a group with their counts, in order of layer and flanks.
template <class Flanks>
class GroupKmers {
 public:
  explicit GroupKmers(std::uint32_t flank_bases) : n_(flank_bases), layer_begins_(flank_bases + 2) {}

  void clear() {
    strings_.clear();
    kmers_ = 0;
  }
  /// Adds the k-mers of a string.
  void add(FlankLengths lengths, Flanks left, Flanks right, const StringCounts& counts) {
    strings_.push_back({lengths, left, right, counts});
    kmers_ += lengths.bases() - n_ + 1;
  }
  /// Puts them in order. Only then are there any of the following.
  void sort() {
    std::fill(layer_begins_.begin(), layer_begins_.end(), 0);
    for (const String& string : strings_) {
      for (std::uint32_t layer = n_ - string.lengths.right; layer <= string.lengths.left; ++layer)
        ++layer_begins_[layer + 1];
    }
    for (std::uint32_t layer = 0; layer <= n_; ++layer) layer_begins_[layer + 1] += layer_begins_[layer];
    flanks_.resize(kmers_);
    counts_.resize(kmers_);
    order_.resize(strings_.size());
    for (std::uint32_t layer = 0; layer <= n_; ++layer) fill(layer);
  }

  [[nodiscard]] std::size_t size() const { return flanks_.size(); }
  [[nodiscard]] const std::vector<Flanks>& flanks() const { return flanks_; }
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }
  /// Returns n + 2 numbers: where the k-mers of each layer begin, and the end.
  [[nodiscard]] const std::uint32_t* layer_begins() const { return layer_begins_.data(); }

 private:
  struct String {
    FlankLengths lengths;
    Flanks left, right;
    StringCounts counts;
  };
  struct Entry {
    Flanks flanks;
    std::uint64_t count;
    bool operator<(const Entry& other) const { return flanks < other.flanks; }
  };

  void fill(std::uint32_t layer) {
    entries_.clear();
    for (const String& string : strings_) {
      if (layer > string.lengths.left || layer < n_ - string.lengths.right) continue;
      entries_.push_back(
          {flanks_at(string.left, string.right, layer, n_), string.counts[string.lengths.left - layer]});
    }
    std::sort(entries_.begin(), entries_.end());
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      flanks_[layer_begins_[layer] + i] = entries_[i].flanks;
      counts_[layer_begins_[layer] + i] = entries_[i].count;
    }
  }

  std::uint32_t n_;
  std::uint64_t kmers_ = 0;
  std::vector<String> strings_;
  std::vector<std::uint32_t> order_, layer_begins_;
  std::vector<Entry> entries_;
  std::vector<Flanks> flanks_;
  std::vector<std::uint64_t> counts_;
};

/// Calls `visit(rest, kmers)` for each group of a shard, in order of their ids: `kmers` is a GroupKmers,
/// until the call returns.
template <class Flanks, class Visit>
void for_each_group(const ShardView& shard, GroupKmers<Flanks>& kmers, Visit&& visit) {
  const auto add_string = [&](FlankLengths lengths, BitCursor& bases, BitCursor& codes) {
    const Flanks left = bases.read_flank<Flanks>(lengths.left);
    const Flanks right = bases.read_flank<Flanks>(lengths.right);
    kmers.add(lengths, left, right, StringCounts::read(codes, shard.kmers(lengths)));
  };
  for (std::uint64_t number = 0; number < shard.layout.buckets; ++number) {
    const Bucket bucket(shard, shard.part(number));
    BitCursor bases{shard.words, bucket.bases_at}, codes = bases;
    for (std::uint64_t i = 0; i < bucket.strings; ++i) {
      const FlankLengths lengths = shard.lengths_at(bucket.lengths_at + i * shard.layout.length_bits);
      codes.at += lengths.is_large() ? shard.layout.large_bits : 2 * lengths.bases();
    }
    const auto is_first = [&](std::uint64_t string) {
      return string == bucket.strings ||
             read_bits<std::uint64_t>(shard.words, bucket.flags_at + string, 1) != 0;
    };
    BitCursor remainders{shard.words, bucket.remainders_at};
    for (std::uint64_t i = 0; i < bucket.strings;) {
      kmers.clear();
      do {
        const FlankLengths lengths = shard.lengths_at(bucket.lengths_at + i * shard.layout.length_bits);
        if (!lengths.is_large()) {
          add_string(lengths, bases, codes);
          continue;
        }
        const LargeGroup large(shard, shard.part(shard.layout.buckets + bases.read(shard.layout.large_bits)));
        BitCursor large_bases{shard.words, large.bases_at}, large_codes{shard.words, large.counts_at};
        for (std::uint64_t string = 0; string < large.strings; ++string)
          add_string(large.lengths_of(shard, string), large_bases, large_codes);
      } while (!is_first(++i));
      kmers.sort();
      visit(static_cast<std::uint32_t>(shard.layout.first_of(number) +
                                       remainders.read(shard.layout.remainder_bits)),
            kmers);
    }
  }
}

}  // namespace warpmer::groups
