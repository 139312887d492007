#pragma once
/// The order of the k-mers in the Jellyfish databases that we write.

#include <algorithm>
#include <cstdint>

#include "kmer/kmer.h"

namespace warpmer::formats {

/// Jellyfish orders k-mers by a product with a matrix over GF(2), a position, and k-mers of the same position
/// by themselves. `jellyfish query` takes the positions to be uniform when it guesses where a k-mer is, so
/// that real k-mers in lexicographic order would take it an order of magnitude longer. Any linear map will
/// do, and this one needs no matrix to be computed, forwards or backwards: the highest bits of a k-mer are
/// folded onto the lower 63 (up to k = 31 there are none), and these are mixed by xorshifts (G. Marsaglia,
/// "Xorshift RNGs", J. Stat. Software 8 (14), 2003).
///
/// As with Jellyfish's own matrices, position and highest bits together are the k-mer again, and sorting by
/// the number that they make, `rank`, is sorting by position and k-mer.
template <class Key>
class JellyfishOrder {
 public:
  explicit constexpr JellyfishOrder(std::uint32_t k)
      : position_bits_(std::min(2 * k, kMostPositionBits)), high_bits_(2 * k - position_bits_) {}

  /// Positions are below 2^this.
  [[nodiscard]] constexpr std::uint32_t position_bits() const { return position_bits_; }

  [[nodiscard]] constexpr std::uint64_t position(Key kmer) const {
    return mixed(static_cast<std::uint64_t>(kmer & mask()) ^ folded(kmer >> position_bits_));
  }

  [[nodiscard]] constexpr Key rank(Key kmer) const {
    return static_cast<Key>(Key{position(kmer)} << high_bits_) | (kmer >> position_bits_);
  }

  /// Returns the k-mer of a rank.
  [[nodiscard]] constexpr Key kmer(Key rank) const {
    const Key high = rank & ((Key{1} << high_bits_) - 1);
    return static_cast<Key>(high << position_bits_) |
           (unmixed(static_cast<std::uint64_t>(rank >> high_bits_)) ^ folded(high));
  }

 private:
  /// A position has 64 bits, and 2^64 would be no size of a table any longer.
  static constexpr std::uint32_t kMostPositionBits = 63;
  static constexpr unsigned kLeft = 13, kRight = 7, kLeftAgain = 17;
  static constexpr int kRounds = 2;

  [[nodiscard]] constexpr std::uint64_t mask() const { return (std::uint64_t{1} << position_bits_) - 1; }

  /// Returns the bits beyond a position, as many as fit at a time.
  [[nodiscard]] constexpr std::uint64_t folded(Key high) const {
    std::uint64_t fold = 0;
    for (; high != 0; high >>= position_bits_) fold ^= static_cast<std::uint64_t>(high & mask());
    return fold;
  }

  [[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t x) const {
    for (int round = 0; round < kRounds; ++round) {
      x ^= x << kLeft & mask();
      x ^= x >> kRight;
      x ^= x << kLeftAgain & mask();
    }
    return x;
  }

  [[nodiscard]] constexpr std::uint64_t unmixed(std::uint64_t x) const {
    for (int round = 0; round < kRounds; ++round) {
      for (unsigned shift = kLeftAgain; shift < position_bits_; shift *= 2) x ^= x << shift & mask();
      for (unsigned shift = kRight; shift < position_bits_; shift *= 2) x ^= x >> shift;
      for (unsigned shift = kLeft; shift < position_bits_; shift *= 2) x ^= x << shift & mask();
    }
    return x;
  }

  std::uint32_t position_bits_;
  std::uint32_t high_bits_;
};

}  // namespace warpmer::formats
