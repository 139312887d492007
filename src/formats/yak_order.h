#pragma once
/// yak's hash of a k-mer, and the order of the k-mers in its files.

#include <cstdint>

#include "kmer/kmer.h"

namespace warpmer::formats {

/// k-mers of up to 31 bases have a hash that is a bijection of 2k bits (the integer hash of T. Wang, 1997,
/// cut down to these bits). Its lowest bits are the number of the bin of yak's table in which it is.
template <class Key>
class YakOrder {
 public:
  /// Bits of a bin's number: yak's default, which it lets only grow.
  static constexpr std::uint32_t kBinBits = 10;
  static constexpr std::uint32_t kMostK = 31;

  explicit constexpr YakOrder(std::uint32_t k)
      : bits_(2 * k), mask_(k > kMostK ? 0 : (std::uint64_t{1} << bits_) - 1) {}

  /// Longer k-mers are in lexicographic order: yak's file takes none.
  [[nodiscard]] constexpr Key rank(Key kmer) const {
    if (mask_ == 0) return kmer;
    const std::uint64_t hash = hash_of(static_cast<std::uint64_t>(kmer));
    return bits_ <= kBinBits ? hash : (hash & kBinMask) << (bits_ - kBinBits) | hash >> kBinBits;
  }
  [[nodiscard]] constexpr Key kmer(Key rank) const {
    if (mask_ == 0) return rank;
    const auto number = static_cast<std::uint64_t>(rank);
    if (bits_ <= kBinBits) return kmer_of(number);
    const std::uint32_t rest = bits_ - kBinBits;
    return kmer_of((number & ((std::uint64_t{1} << rest) - 1)) << kBinBits | number >> rest);
  }

  [[nodiscard]] constexpr std::uint64_t hash_of(std::uint64_t kmer) const {
    std::uint64_t x = ((kmer << 21) - kmer - 1) & mask_;
    x ^= x >> 24;
    x = x * 265 & mask_;
    x ^= x >> 14;
    x = x * 21 & mask_;
    x ^= x >> 28;
    return (x + (x << 31)) & mask_;
  }

  [[nodiscard]] constexpr std::uint64_t kmer_of(std::uint64_t hash) const {
    std::uint64_t x = hash * inverse((std::uint64_t{1} << 31) + 1) & mask_;
    x = unshifted(x, 28);
    x = x * inverse(21) & mask_;
    x = unshifted(x, 14);
    x = x * inverse(265) & mask_;
    x = unshifted(x, 24);
    return (x + 1) * inverse((std::uint64_t{1} << 21) - 1) & mask_;
  }

 private:
  static constexpr std::uint64_t kBinMask = (std::uint64_t{1} << kBinBits) - 1;

  /// Returns the inverse of an odd number modulo 2^64, by Newton's method: each round doubles the right bits.
  [[nodiscard]] static constexpr std::uint64_t inverse(std::uint64_t odd) {
    std::uint64_t x = odd;  // right in three bits
    for (int round = 0; round < 5; ++round) x *= 2 - odd * x;
    return x;
  }

  /// Undoes x ^= x >> shift.
  [[nodiscard]] static constexpr std::uint64_t unshifted(std::uint64_t x, unsigned shift) {
    for (; shift < 64; shift *= 2) x ^= x >> shift;
    return x;
  }

  std::uint32_t bits_;
  std::uint64_t mask_;  ///< 0 for k-mers that are too long
};

}  // namespace warpmer::formats
