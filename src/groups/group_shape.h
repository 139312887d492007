#pragma once
/// Groups of k-mers that share their minimizer: the length of minimizers for each k, and what follows from
/// it.

#include <cstdint>

#include "kmer/kmer.h"
#include "kmer/minimizer.h"
#include "kmer/platform.h"

namespace warpmer::groups {

/// Returns m for each k. It is odd: an m-mer of odd length is never its own reverse complement, so that a
/// minimizer always says which strand is meant.
WARPMER_HD constexpr std::uint32_t group_minimizer_length(std::uint32_t k) {
  if (k <= 19) return 11;
  if (k <= 27) return 13;
  return 15;
}

/// Number of bits of the number of a shard; the groups of a shard have the top bits of their ids in common.
inline constexpr std::uint32_t kGroupShardBits = 12;

/// The numbers that k, 13 to 64, fixes. n = k - m bases of a k-mer lie beside its minimizer.
struct GroupShape {
  std::uint32_t k, m;

  WARPMER_HD explicit constexpr GroupShape(std::uint32_t k_bases)
      : k(k_bases), m(group_minimizer_length(k_bases)) {}

  /// Returns n: the bases of both flanks of a k-mer. Layers are 0 to n.
  WARPMER_HD constexpr std::uint32_t flank_bases() const { return k - m; }
  /// Returns the bits of a group's id: its minimizer, mixed.
  WARPMER_HD constexpr std::uint32_t id_bits() const { return 2 * m; }
  /// Returns the bits of an id that are not the shard's number.
  WARPMER_HD constexpr std::uint32_t rest_bits() const { return id_bits() - kGroupShardBits; }
  /// Return the shard of a group, and its id below the shard's number.
  WARPMER_HD constexpr std::uint32_t shard_of(std::uint32_t id) const { return id >> rest_bits(); }
  WARPMER_HD constexpr std::uint32_t rest_of(std::uint32_t id) const {
    return id & ((1u << rest_bits()) - 1);
  }
};

/// Up to this k both flanks of a k-mer fit one 64-bit word.
inline constexpr std::uint32_t kMaxNarrowFlanksK = 47;

/// Calls `f` with a value of the type that flanks need, 64 or 128 bits.
template <class F>
inline auto with_flanks_type(std::uint32_t k, F&& f) {
  return k <= kMaxNarrowFlanksK ? f(Key64{}) : f(Key128{});
}

/// A bijection on 2m bits that orders groups: every base of an m-mer reaches the top bits, which name the
/// shard, and those below them, which name a bucket of the shard.
struct GroupHash {
  static constexpr std::uint32_t kFirst = 0x9E3779B1u, kSecond = 0x85EBCA6Bu;
  std::uint32_t m;
  std::uint32_t mask;

  WARPMER_HD explicit constexpr GroupHash(std::uint32_t m_bases)
      : m(m_bases), mask(static_cast<std::uint32_t>((std::uint64_t{1} << (2 * m_bases)) - 1)) {}

  /// Returns the id of the group of an m-mer, read with its first base least significant.
  WARPMER_HD constexpr std::uint32_t operator()(std::uint32_t mmer) const {
    std::uint32_t x = (mmer * kFirst) & mask;
    x ^= x >> m;
    x = (x * kSecond) & mask;
    return x ^ (x >> m);
  }
  /// Returns the m-mer of a group. A fold of m bits is its own inverse, because 2m bits are all there are.
  WARPMER_HD constexpr std::uint32_t inverse(std::uint32_t id) const {
    std::uint32_t x = id ^ (id >> m);
    x = (x * kSecondInverse) & mask;
    x ^= x >> m;
    return (x * kFirstInverse) & mask;
  }

 private:
  static constexpr std::uint32_t kFirstInverse = warpmer::detail::odd_inverse(kFirst);
  static constexpr std::uint32_t kSecondInverse = warpmer::detail::odd_inverse(kSecond);
};

}  // namespace warpmer::groups
