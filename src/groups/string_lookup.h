#pragma once
/// Looking super-k-mers up: each is compared as a whole with strings of its group.
///
/// A query and a string stand around the same minimizer. If they agree on a bases to its left and b to its
/// right, then the k-mers that both have are those of layers n - b to a: one comparison answers all of them.

#include <cstdint>

#include "groups/flanked_kmer.h"
#include "groups/shard_bits.h"
#include "kmer/platform.h"

namespace warpmer::groups {

/// Returns the number of lowest bases that two flanks have in common, at most `most`.
WARPMER_HD constexpr std::uint32_t common_bases(Key64 a, Key64 b, std::uint32_t most) {
  const std::uint32_t common = trailing_zeros(a ^ b) / 2;
  return common < most ? common : most;
}
WARPMER_HD constexpr std::uint32_t common_bases(Key128 a, Key128 b, std::uint32_t most) {
  const Key128 differ = a ^ b;
  const auto low = static_cast<std::uint64_t>(differ), high = static_cast<std::uint64_t>(differ >> 64);
  const std::uint32_t common = (low != 0 ? trailing_zeros(low) : 64 + trailing_zeros(high)) / 2;
  return common < most ? common : most;
}

namespace detail {

/// Compares a query with a string, and reports what they have in common. Returns the number of k-mers.
template <class Flanks, class Counts, class Found>
WARPMER_HD std::uint32_t compare(const FlankedSuperKmer<Flanks>& query, FlankLengths string, BitCursor bases,
                                 std::uint32_t flank_bases, Counts&& counts, Found&& found) {
  const std::uint64_t bases_at = bases.at;
  const Flanks left = bases.template read_flank<Flanks>(string.left);
  const Flanks right = bases.template read_flank<Flanks>(string.right);
  const std::uint32_t a =
      common_bases(left, query.left, string.left < query.left_bases ? string.left : query.left_bases);
  const std::uint32_t b =
      common_bases(right, query.right, string.right < query.right_bases ? string.right : query.right_bases);
  if (a + b < flank_bases) return 0;
  const std::uint32_t kmers = a + b - flank_bases + 1;
  StringCounts here = counts();
  here.bases_at = bases_at;
  found(query.left_bases - a, kmers, here, string.left - a);
  return kmers;
}

/// Searches a layer of a large group for a k-mer, given by its flanks. Returns the number of the string, or
/// -1.
template <class Flanks>
WARPMER_HD std::int64_t search_layer(const ShardBits& shard, const LargeGroup& group, std::uint32_t layer,
                                     Flanks wanted) {
  std::uint64_t first = group.layer_begin(shard, layer), end = group.layer_begin(shard, layer + 1);
  while (first < end) {
    const std::uint64_t middle = first + (end - first) / 2;
    const std::uint64_t string = group.number_at(shard, middle);
    const FlankLengths lengths = group.lengths_of(shard, string);
    BitCursor bases = group.bases_of(shard, string);
    const Flanks left = bases.template read_flank<Flanks>(lengths.left);
    const Flanks right = bases.template read_flank<Flanks>(lengths.right);
    const Flanks here = flanks_at(left, right, layer, shard.flank_bases);
    if (here == wanted) return static_cast<std::int64_t>(string);
    if (here < wanted) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return -1;
}

template <class Flanks, class Found>
WARPMER_HD std::uint32_t find_in_large_group(const ShardBits& shard, const LargeGroup& group,
                                             const FlankedSuperKmer<Flanks>& query, Found&& found) {
  const std::uint32_t n = shard.flank_bases;
  const std::uint32_t lowest = n - query.right_bases;
  std::uint32_t answered = 0;
  // From the highest layer down: the first k-mer of a stretch that is found takes the others with it.
  for (std::uint32_t layer = query.left_bases + 1; layer-- > lowest;) {
    const std::int64_t string =
        search_layer(shard, group, layer, flanks_at(query.left, query.right, layer, n));
    if (string < 0) continue;
    const auto number = static_cast<std::uint64_t>(string);
    const std::uint32_t kmers = compare(
        query, group.lengths_of(shard, number), group.bases_of(shard, number), n,
        [&] { return group.counts_of(shard, number); }, found);
    answered += kmers;
    // No other string has these k-mers.
    layer -= kmers - 1;
  }
  return answered;
}

}  // namespace detail

/// A super-k-mer on its way through the strings of its group, one at a time.
///
/// In a group of up to kMostInlineStrings strings these are compared one by one. In a large one each k-mer
/// that is not yet answered is searched for in the order of its layer, so the cost of a k-mer is at most that
/// of log2(strings) comparisons. A bucket has at most as many groups as ids.
///
/// Of reads of C. elegans at 30x, 8 % of the super-k-mers are of large groups, and take a third of the time:
/// a search has 7.5 comparisons. Many searches side by side, each step for all with what the next one reads
/// on its way from memory, took 4 to 8 % off the whole lookup: shards are asked one after the other, and
/// their groups mostly in the cache.
template <class Flanks>
class StringSearch {
 public:
  /// Finds the group, whose id in this shard is `rest`, below 2^rest_bits.
  WARPMER_HD StringSearch(const ShardBits& shard, std::uint32_t rest, const FlankedSuperKmer<Flanks>& query)
      : shard_(shard), query_(query), wanted_(query.left_bases + query.right_bases - shard.flank_bases + 1) {
    if (shard.layout.buckets == 0) return;
    const std::uint64_t number = shard.layout.bucket_of(rest);
    bucket_ = Bucket(shard, shard.part(number));
    const std::uint64_t remainder = rest - shard.layout.first_of(number);
    BitCursor remainders{shard.words, bucket_.remainders_at};
    std::uint64_t group = 0;
    while (group < bucket_.groups && remainders.read(shard.layout.remainder_bits) != remainder) ++group;
    if (group == bucket_.groups) return;
    const std::uint64_t first = bucket_.first_string(shard, group);
    end_ = bucket_.first_string(shard, group + 1);
    bases_at_ = bucket_.bases_at;
    for (; string_ < first; ++string_) bases_at_ += shard_.base_bits(lengths_of(string_));
  }

  /// True when no string is left, or no k-mer without an answer.
  WARPMER_HD bool is_done() const { return string_ == end_ || answered_ == wanted_; }
  /// Returns the number of k-mers found so far.
  WARPMER_HD std::uint32_t answered() const { return answered_; }

  /// Compares with the next string, or searches all of a large group. Calls `found` as find_super_kmer does.
  template <class Found>
  WARPMER_HD void compare_next(Found&& found) {
    const FlankLengths string = lengths_of(string_);
    const BitCursor bases{shard_.words, bases_at_};
    if (string.is_large()) {
      const std::uint64_t record = bases.peek(shard_.layout.large_bits);
      const LargeGroup large(shard_, shard_.part(shard_.layout.buckets + record));
      answered_ += detail::find_in_large_group(shard_, large, query_, found);
    } else {
      answered_ += detail::compare(
          query_, string, bases, shard_.flank_bases, [&] { return counts_of(string_); }, found);
    }
    bases_at_ += shard_.base_bits(string);
    ++string_;
  }

 private:
  WARPMER_HD FlankLengths lengths_of(std::uint64_t string) const {
    return shard_.lengths_at(bucket_.lengths_at + string * shard_.layout.length_bits);
  }
  /// Returns the counts of a string. Numbers must not fall from call to call. Counts lie behind the bases of
  /// all strings of the bucket, which are added up only when the first are wanted.
  WARPMER_HD StringCounts counts_of(std::uint64_t string) {
    if (codes_at_ == 0) {
      codes_at_ = bucket_.bases_at;
      for (std::uint64_t i = 0; i < bucket_.strings; ++i) codes_at_ += shard_.base_bits(lengths_of(i));
    }
    BitCursor codes{shard_.words, codes_at_};
    for (; codes_of_ < string; ++codes_of_) {
      const FlankLengths here = lengths_of(codes_of_);
      if (!here.is_large()) StringCounts::read(codes, shard_.kmers(here));
    }
    codes_at_ = codes.at;
    return StringCounts::read(codes, shard_.kmers(lengths_of(string)));
  }

  const ShardBits& shard_;
  const FlankedSuperKmer<Flanks>& query_;
  std::uint32_t wanted_, answered_ = 0;
  Bucket bucket_{};
  std::uint64_t string_ = 0, end_ = 0, bases_at_ = 0;  ///< the next string, and that behind the group's last
  std::uint64_t codes_at_ = 0, codes_of_ = 0;  ///< where the counts of a string begin; 0: not known yet
};

/// Looks up the k-mers of a super-k-mer, whose group has the id `rest` in this shard. Calls `found(first,
/// kmers, counts, i)` for every stretch of them that the shard has: k-mers `first` up to `first + kmers` of
/// the super-k-mer, from the left, are those of a string from its i-th on, whose counts are `counts[i]` and
/// the following; `counts.bases_at` / 2 + i is a number that no other k-mer of the shard has, because a
/// string has at least as many bases as k-mers. Stretches come in no order. Returns the number of k-mers
/// found.
template <class Flanks, class Found>
WARPMER_HD_INLINE std::uint32_t find_super_kmer(const ShardBits& shard, std::uint32_t rest,
                                                const FlankedSuperKmer<Flanks>& query, Found&& found) {
  StringSearch<Flanks> search(shard, rest, query);
  while (!search.is_done()) search.compare_next(found);
  return search.answered();
}

/// Returns the count that a shard has of a k-mer, given as a super-k-mer of one; 0 for one that it does not
/// have. The rest is that of find_super_kmer.
template <class Flanks>
WARPMER_HD std::uint64_t count_of(const ShardBits& shard, std::uint32_t rest,
                                  const FlankedSuperKmer<Flanks>& kmer) {
  std::uint64_t count = 0;
  find_super_kmer(
      shard, rest, kmer,
      [&](std::uint32_t, std::uint32_t, const StringCounts& counts, std::uint32_t i) { count = counts[i]; });
  return count;
}

}  // namespace warpmer::groups
