#pragma once
/// Minimizers and shards: m and the number of shards for each k. They are part of the index format.
///
/// The minimizer of a k-mer is, of its k - m + 1 m-mers, the one with the smallest `minimizer_hash`: of
/// canonical k-mers the hashes of the m-mers' canonical forms, so that both strands have the same minimizer;
/// of k-mers as read those of the m-mers as read. An m-mer is a base-4 number with its *first* base least
/// significant (the order in which text packs without reversal); canonical is the smaller of it and its
/// reverse complement, read the same way.

#include <cstdint>

#include "kmer/hash.h"
#include "kmer/platform.h"

namespace warpmer {

/// Up to this k, counting is a dense array of 4^k counters, and the index has one shard.
inline constexpr std::uint32_t kMaxDenseK = 12;
inline constexpr std::uint32_t kShardBits = 12;

/// Returns the number of bits of a shard's number: there are 2^shard_bits(k) shards.
WARPMER_HD constexpr std::uint32_t shard_bits(std::uint32_t k) { return k <= kMaxDenseK ? 0 : kShardBits; }

/// Returns m for each k. It is odd for k > kMaxDenseK: an m-mer of odd length is never its own reverse
/// complement, so that a minimizer always says which strand is meant. A smaller m gives longer super-k-mers,
/// a larger one more even shards. At k = 31, reads of a human exome: with m = 12, 14, 15 a k-mer takes 1.73,
/// 1.89, 1.98 bytes, and the largest shard is 38, 14, 10 times the mean (bench/minimizer_choice;
/// docs/results.md#choice-of-m).
WARPMER_HD constexpr std::uint32_t minimizer_length(std::uint32_t k) {
  if (k <= kMaxDenseK) return k;
  if (k <= 19) return 11;
  if (k <= 27) return 13;
  return 15;
}

/// Returns the m-mer read from the other strand, both with their first base least significant.
WARPMER_HD constexpr std::uint32_t other_strand(std::uint32_t mmer, std::uint32_t m) {
  // Reversing pairs turns "first base least significant" into "most significant"; complemented and
  // moved down, that is the other strand read in the first order again.
  return reverse_pairs_32(~mmer) >> (32 - 2 * m);
}
/// Returns the canonical form of an m-mer: the smaller of both strands.
WARPMER_HD constexpr std::uint32_t canonical_mmer(std::uint32_t mmer, std::uint32_t m) {
  const std::uint32_t other = other_strand(mmer, m);
  return other < mmer ? other : mmer;
}

/// Returns the shard, of 2^bits, of the k-mers of a minimizer (given by its hash): the top bits of their
/// group's id. With more bits than kShardBits these are bins, which a GPU divides shards into.
WARPMER_HD constexpr std::uint32_t shard_of(std::uint32_t minimizer, std::uint32_t m, std::uint32_t bits) {
  return bits == 0 ? 0 : GroupHash(m)(minimizer_of_hash(minimizer)) >> (2 * m - bits);
}

/// Returns the hash of the minimizer of one k-mer: the definition, one m-mer after the other. For single
/// lookups and as the reference that the vectorised cut is tested against.
template <class Key>
WARPMER_HD constexpr std::uint32_t minimizer_of(Key kmer, std::uint32_t k, bool is_canonical) {
  const std::uint32_t m = minimizer_length(k);
  const std::uint64_t mask = (std::uint64_t{1} << (2 * m)) - 1;
  // In an m-mer's reading order the first base is least significant. So m-mers of this strand are stretches
  // of the k-mer reversed, and m-mers of the other one stretches of its complement.
  const Key reversed = ~reverse_complement(kmer, k), complement = ~kmer;
  std::uint32_t best = UINT32_MAX;
  for (std::uint32_t i = 0; i + m <= k; ++i) {
    const std::uint64_t mmer = static_cast<std::uint64_t>(reversed >> (2 * i)) & mask;
    const std::uint64_t other = static_cast<std::uint64_t>(complement >> (2 * (k - m - i))) & mask;
    const std::uint32_t hash =
        minimizer_hash(static_cast<std::uint32_t>(is_canonical && other < mmer ? other : mmer));
    best = hash < best ? hash : best;
  }
  return best;
}

/// Returns the shard of one k-mer, by that definition.
template <class Key>
WARPMER_HD constexpr std::uint32_t shard_of_kmer(Key kmer, std::uint32_t k, bool is_canonical,
                                                 std::uint32_t bits) {
  return bits == 0 ? 0 : shard_of(minimizer_of(kmer, k, is_canonical), minimizer_length(k), bits);
}

}  // namespace warpmer
