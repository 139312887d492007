#pragma once
/// Minimizers and shards: m and the number of shards for each k. They are part of the index format.
///
/// The minimizer of a k-mer is, of its k - m + 1 m-mers, the one whose canonical form has the
/// smallest `minimizer_hash`. An m-mer is read as a base-4 number with its *first* base least
/// significant (the order in which text packs without reversal); canonical is the smaller of it and
/// its reverse complement, read the same way. Both strands of a k-mer have the same minimizer.

#include <cstdint>

#include "kmer/hash.h"
#include "kmer/platform.h"

namespace warpmer {

/// Up to this k, counting is a dense array of 4^k counters, and the index has one shard.
inline constexpr std::uint32_t kMaxDenseK = 12;
inline constexpr std::uint32_t kShardBits = 12;

/// Returns the number of bits of a shard's number: there are 2^shard_bits(k) shards.
WARPMER_HD constexpr std::uint32_t shard_bits(std::uint32_t k) { return k <= kMaxDenseK ? 0 : kShardBits; }

/// Returns m for each k. A smaller m gives longer super-k-mers, a larger one more even shards. At k = 31,
/// reads of a human exome: with m = 12, 14, 15 a k-mer takes 1.73, 1.89, 1.98 bytes, and the largest shard is
/// 38, 14, 10 times the mean (bench/minimizer_choice; docs/results.md#choice-of-m).
WARPMER_HD constexpr std::uint32_t minimizer_length(std::uint32_t k) {
  if (k <= kMaxDenseK) return k;
  if (k <= 16) return 10;
  if (k <= 19) return 11;
  if (k <= 24) return 12;
  if (k <= 28) return 13;
  return 14;
}

/// Returns the number of m-mers in a k-mer.
WARPMER_HD constexpr std::uint32_t minimizer_window(std::uint32_t k) { return k - minimizer_length(k) + 1; }

/// Returns the canonical form of an m-mer (first base least significant): the smaller of both strands.
WARPMER_HD constexpr std::uint32_t canonical_mmer(std::uint32_t mmer, std::uint32_t m) {
  // Reversing pairs turns "first base least significant" into "most significant"; complemented and
  // moved down, that is the other strand read in the first order again.
  const std::uint32_t other = reverse_pairs_32(~mmer) >> (32 - 2 * m);
  return other < mmer ? other : mmer;
}

/// Returns the shard of a minimizer (given by its hash).
WARPMER_HD constexpr std::uint32_t shard_of(std::uint32_t minimizer, std::uint32_t bits) {
  return bits == 0 ? 0 : ownership_hash(minimizer) >> (32 - bits);
}

/// Returns the minimizer of one k-mer: the definition, one m-mer after the other. For single lookups and as
/// the reference that the vectorised cut is tested against.
template <class Key>
WARPMER_HD constexpr std::uint32_t minimizer_of(Key kmer, std::uint32_t k) {
  const std::uint32_t m = minimizer_length(k);
  const std::uint64_t mask = (std::uint64_t{1} << (2 * m)) - 1;
  // In an m-mer's reading order the first base is least significant. So m-mers of this strand are stretches
  // of the k-mer reversed, and m-mers of the other one stretches of its complement.
  const Key reversed = ~reverse_complement(kmer, k), complement = ~kmer;
  std::uint32_t best = UINT32_MAX;
  for (std::uint32_t i = 0; i + m <= k; ++i) {
    const std::uint64_t mmer = static_cast<std::uint64_t>(reversed >> (2 * i)) & mask;
    const std::uint64_t other = static_cast<std::uint64_t>(complement >> (2 * (k - m - i))) & mask;
    const std::uint32_t hash = minimizer_hash(static_cast<std::uint32_t>(other < mmer ? other : mmer));
    best = hash < best ? hash : best;
  }
  return best;
}

}  // namespace warpmer
