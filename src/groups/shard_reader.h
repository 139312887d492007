#pragma once
/// A shard back into its k-mers, group by group.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "groups/flanked_kmer.h"
#include "groups/shard_bits.h"

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
    for (const DecodedString& string : strings_) {
      for (std::uint32_t layer = n_ - string.lengths.right; layer <= string.lengths.left; ++layer)
        ++layer_begins_[layer + 1];
    }
    for (std::uint32_t layer = 0; layer <= n_; ++layer) layer_begins_[layer + 1] += layer_begins_[layer];
    flanks_.resize(kmers_);
    counts_.resize(kmers_);
    for (std::uint32_t layer = 0; layer <= n_; ++layer) fill(layer);
  }

  [[nodiscard]] std::size_t size() const { return flanks_.size(); }
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
  struct CountedFlanks {
    Flanks flanks;
    std::uint64_t count;
    bool operator<(const CountedFlanks& other) const { return flanks < other.flanks; }
  };

  void fill(std::uint32_t layer) {
    entries_.clear();
    for (const DecodedString& string : strings_) {
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
  std::vector<DecodedString> strings_;
  std::vector<std::uint32_t> layer_begins_;
  std::vector<CountedFlanks> entries_;
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
  [[nodiscard]] bool has_group() const { return at_ < in_bucket_.size(); }
  /// Returns the id of the group below the shard's number.
  [[nodiscard]] std::uint32_t rest() const { return in_bucket_[at_].rest; }
  void next() {
    ++at_;
    while (at_ >= in_bucket_.size() && bucket_ < shard_.layout.buckets) open_bucket();
  }

  /// Calls `visit(lengths, left, right, counts)` for each string of the group, in their order; counts are a
  /// StringCounts.
  template <class Visit>
  void for_each_string(Visit&& visit) const {
    const GroupPlace& group = in_bucket_[at_];
    BitCursor bases{shard_.words, group.bases_at}, codes{shard_.words, group.codes_at};
    if (group.strings == 1 && shard_.lengths_at(group.lengths_at).is_large()) {
      const LargeGroup large(shard_,
                             shard_.part(shard_.layout.buckets + bases.read(shard_.layout.large_bits)));
      visit_strings(large.strings, large.lengths_at, {shard_.words, large.bases_at},
                    {shard_.words, large.counts_at}, visit);
    } else {
      visit_strings(group.strings, group.lengths_at, bases, codes, visit);
    }
  }

 private:
  struct GroupPlace {
    std::uint32_t rest;
    std::uint64_t strings, lengths_at, bases_at, codes_at;
  };

  template <class Visit>
  void visit_strings(std::uint64_t strings, std::uint64_t lengths_at, BitCursor bases, BitCursor codes,
                     Visit& visit) const {
    for (std::uint64_t i = 0; i < strings; ++i) {
      const FlankLengths lengths = shard_.lengths_at(lengths_at + i * shard_.layout.length_bits);
      const Flanks left = bases.read_flank<Flanks>(lengths.left);
      const Flanks right = bases.read_flank<Flanks>(lengths.right);
      visit(lengths, left, right, StringCounts::read(codes, shard_.kmers(lengths)));
    }
  }

  /// Finds the places of the groups of the next bucket.
  void open_bucket() {
    in_bucket_.clear();
    at_ = 0;
    const Bucket bucket(shard_, shard_.part(bucket_));
    std::uint64_t bases_at = bucket.bases_at, codes_at = bases_at;
    const auto lengths_at = [&](std::uint64_t string) {
      return bucket.lengths_at + string * shard_.layout.length_bits;
    };
    for (std::uint64_t i = 0; i < bucket.strings; ++i)
      codes_at += shard_.base_bits(shard_.lengths_at(lengths_at(i)));
    const std::uint64_t first = shard_.layout.first_of(bucket_++);
    BitCursor codes{shard_.words, codes_at}, remainders{shard_.words, bucket.remainders_at};
    for (std::uint64_t i = 0; i < bucket.strings; ++i) {
      if (read_bits<std::uint64_t>(shard_.words, bucket.flags_at + i, 1) != 0) {
        const auto rest = static_cast<std::uint32_t>(first + remainders.read(shard_.layout.remainder_bits));
        in_bucket_.push_back({rest, 0, lengths_at(i), bases_at, codes.at});
      }
      ++in_bucket_.back().strings;
      const FlankLengths lengths = shard_.lengths_at(lengths_at(i));
      bases_at += shard_.base_bits(lengths);
      if (!lengths.is_large()) StringCounts::read(codes, shard_.kmers(lengths));
    }
    std::sort(in_bucket_.begin(), in_bucket_.end(),
              [](const GroupPlace& a, const GroupPlace& b) { return a.rest < b.rest; });
  }

  ShardBits shard_;
  std::uint64_t bucket_;
  std::vector<GroupPlace> in_bucket_;
  std::size_t at_ = 0;
};

/// Calls `visit(rest, kmers)` for each group of a shard with an id in [first, end), in order of their ids:
/// `kmers` is a GroupKmers, until the call returns.
template <class Flanks, class Visit>
void for_each_group(const ShardBits& shard, std::uint64_t first, std::uint64_t end, GroupKmers<Flanks>& kmers,
                    Visit&& visit) {
  for (GroupCursor<Flanks> group(shard, shard.layout.bucket_of(first)); group.has_group(); group.next()) {
    if (group.rest() < first) continue;
    if (group.rest() >= end) break;
    kmers.clear();
    group.for_each_string([&](FlankLengths lengths, Flanks left, Flanks right, const StringCounts& counts) {
      kmers.add(lengths, left, right, counts);
    });
    kmers.sort();
    visit(group.rest(), kmers);
  }
}
/// Does so for all groups.
template <class Flanks, class Visit>
void for_each_group(const ShardBits& shard, GroupKmers<Flanks>& kmers, Visit&& visit) {
  for_each_group(shard, 0, UINT64_MAX, kmers, visit);
}

}  // namespace warpmer::groups
