#pragma once
/// The strings of a shard in the order in which they lie, for workers that each take a part of them: a
/// bucket, or a few strings of a large group. (A GroupCursor goes through groups in the order of their ids.)

#include <cstdint>

#include "groups/flanked_kmer.h"
#include "groups/shard_bits.h"
#include "kmer/platform.h"

namespace warpmer::groups {

/// Calls `visit(rest, lengths, bases, counts)` for each string of a bucket, and `visit_large(rest, number)`
/// for each large group: `rest` is the group's id below the shard's number, `bases` a BitCursor, `counts` a
/// StringCounts, and `number` that of the group's record.
template <class Visit, class VisitLarge>
WARPMER_HD void for_each_string_of_bucket(const ShardBits& shard, std::uint64_t bucket, Visit&& visit,
                                          VisitLarge&& visit_large) {
  const Bucket head(shard, shard.part(bucket));
  const auto lengths_of = [&](std::uint64_t string) {
    return shard.lengths_at(head.lengths_at + string * shard.layout.length_bits);
  };
  BitCursor remainders{shard.words, head.remainders_at}, bases{shard.words, head.bases_at}, codes = bases;
  for (std::uint64_t i = 0; i < head.strings; ++i) codes.at += shard.base_bits(lengths_of(i));
  const auto first = static_cast<std::uint32_t>(shard.layout.first_of(bucket));
  std::uint32_t rest = first;
  for (std::uint64_t i = 0; i < head.strings; ++i) {
    if (read_bits<std::uint64_t>(shard.words, head.flags_at + i, 1) != 0)
      rest = first + static_cast<std::uint32_t>(remainders.read(shard.layout.remainder_bits));
    const FlankLengths lengths = lengths_of(i);
    if (lengths.is_large()) {
      visit_large(rest, static_cast<std::uint32_t>(bases.read(shard.layout.large_bits)));
      continue;
    }
    visit(rest, lengths, bases, StringCounts::read(codes, shard.kmers(lengths)));
    bases.at += shard.base_bits(lengths);
  }
}

/// Calls `visit(lengths, bases, counts)` for each of the kStringsPerMark strings of a large group, or fewer
/// in the end, whose place a mark says.
template <class Visit>
WARPMER_HD void for_each_string_of_mark(const ShardBits& shard, const LargeGroup& group, std::uint64_t mark,
                                        Visit&& visit) {
  const std::uint64_t begin = mark * kStringsPerMark;
  const std::uint64_t end = begin + kStringsPerMark < group.strings ? begin + kStringsPerMark : group.strings;
  const std::uint64_t at = group.marks_at + mark * (group.base_mark_bits + group.count_mark_bits);
  BitCursor marks{shard.words, at};
  BitCursor bases{shard.words, group.bases_at + 2 * marks.read(group.base_mark_bits)};
  BitCursor codes{shard.words, group.counts_at + marks.read(group.count_mark_bits)};
  for (std::uint64_t string = begin; string < end; ++string) {
    const FlankLengths lengths = group.lengths_of(shard, string);
    visit(lengths, bases, StringCounts::read(codes, shard.kmers(lengths)));
    bases.at += 2 * lengths.bases();
  }
}
/// Returns the number of marks of a large group.
WARPMER_HD std::uint64_t marks_of(const LargeGroup& group) {
  return (group.strings + kStringsPerMark - 1) / kStringsPerMark;
}

/// Calls `visit(layer, flanks, count)` for each k-mer of a string, the first one first.
template <class Flanks, class Visit>
WARPMER_HD void for_each_kmer_of_string(const ShardBits& shard, FlankLengths lengths, BitCursor bases,
                                        const StringCounts& counts, Visit&& visit) {
  const Flanks left = bases.read_flank<Flanks>(lengths.left);
  const Flanks right = bases.read_flank<Flanks>(lengths.right);
  const std::uint32_t n = shard.flank_bases, kmers = shard.kmers(lengths);
  for (std::uint32_t i = 0; i < kmers; ++i) {
    const std::uint32_t layer = lengths.left - i;
    visit(layer, flanks_at(left, right, layer, n), counts[i]);
  }
}

}  // namespace warpmer::groups
