#pragma once
/// The hashes everything rests on. They are part of the index format (`hash_version` 2): changing
/// any constant here changes the bytes of every index.

#include <cstdint>

#include "kmer/kmer.h"
#include "kmer/platform.h"

namespace warpmer {

/// Version of all of these; and of the hash of k-mers alone, which an index of positions rests on.
inline constexpr std::uint32_t kHashVersion = 2, kKmerHashVersion = 1;

namespace detail {
/// Odd multipliers: the fractional part of the golden ratio and of sqrt(3), truncated to the key.
template <class Key>
struct Multipliers;
template <>
struct Multipliers<Key64> {
  static constexpr Key64 kFirst = 0x9E3779B97F4A7C15u;
  static constexpr Key64 kSecond = 0xBB67AE8584CAA73Bu;
};
template <>
struct Multipliers<Key128> {
  static constexpr Key128 kFirst = (Key128{0x9E3779B97F4A7C15u} << 64) | 0xF39CC0605CEDC835u;
  static constexpr Key128 kSecond = (Key128{0xBB67AE8584CAA73Bu} << 64) | 0x25742D7078B83B89u;
};

/// Returns the inverse of an odd number modulo 2^bits(Key), by Newton's iteration (each step doubles the
/// number of correct low bits; a * a == 1 mod 8 gives the first three).
template <class Key>
constexpr Key odd_inverse(Key a) {
  Key x = a;
  for (int correct = 3; correct < static_cast<int>(kKeyBits<Key>); correct *= 2) x *= 2 - a * x;
  return x;
}
}  // namespace detail

/// A bijection on 2k bits: multiply, fold the upper half onto the lower, multiply; all modulo 2^2k.
/// Every bit of the k-mer reaches the top bits, which choose buckets and table windows; being a
/// bijection it lets tables and index store hashes alone and recover the k-mer.
template <class Key>
struct KmerHash {
  std::uint32_t k;
  Key mask;

  WARPMER_HD explicit constexpr KmerHash(std::uint32_t k_bases) : k(k_bases), mask(key_mask<Key>(k_bases)) {}

  WARPMER_HD constexpr Key operator()(Key kmer) const {
    Key x = (kmer * detail::Multipliers<Key>::kFirst) & mask;
    x ^= x >> k;
    return (x * detail::Multipliers<Key>::kSecond) & mask;
  }

  /// Returns the k-mer whose hash is `hash`. The fold is its own inverse, because 2 * k bits are all there
  /// are.
  WARPMER_HD constexpr Key inverse(Key hash) const {
    constexpr Key kFirstInverse = detail::odd_inverse(detail::Multipliers<Key>::kFirst);
    constexpr Key kSecondInverse = detail::odd_inverse(detail::Multipliers<Key>::kSecond);
    Key x = (hash * kSecondInverse) & mask;
    x ^= x >> k;
    return (x * kFirstInverse) & mask;
  }
};

/// Orders m-mers (m <= 16, so 2m <= 32 bits); a bijection on 32 bits, so that equal hashes mean equal m-mers.
/// The seed keeps poly-A, whose value is 0, from being the minimizer of all.
WARPMER_HD constexpr std::uint32_t minimizer_hash(std::uint32_t canonical_mmer) {
  std::uint32_t x = (canonical_mmer ^ 0x5BD1E995u) * 0x9E3779B1u;
  x ^= x >> 16;
  return x * 0x85EBCA6Bu;
}

/// Returns the m-mer whose `minimizer_hash` this is. A fold of half the bits is its own inverse.
WARPMER_HD constexpr std::uint32_t minimizer_of_hash(std::uint32_t hash) {
  std::uint32_t x = hash * detail::odd_inverse(0x85EBCA6Bu);
  x ^= x >> 16;
  return (x * detail::odd_inverse(0x9E3779B1u)) ^ 0x5BD1E995u;
}

/// A bijection on 2m bits that gives the k-mers of a minimizer, its group, an id: every base of the m-mer
/// reaches the top bits, which name the shard. (The first hash would not do: the smallest of w hashes is
/// always near zero.)
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
  static constexpr std::uint32_t kFirstInverse = detail::odd_inverse(kFirst);
  static constexpr std::uint32_t kSecondInverse = detail::odd_inverse(kSecond);
};

}  // namespace warpmer
