#pragma once
/// The order of the k-mers in the Jellyfish databases that we write.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kmer/kmer.h"

namespace warpmer::formats {

/// Returns the bits of a position in a database of at most `kmers` k-mers: the size of Jellyfish's hash,
/// which programs that load a database allocate, is 2 to the power of this. `size`: what the user wants it to
/// have, as with `jellyfish count -s`; 0: any.
constexpr std::uint32_t jellyfish_position_bits(std::uint32_t k, std::uint64_t kmers,
                                                std::uint64_t size = 0) {
  // Jellyfish's own hash is full when its longest way, 126 steps, leads to no free place: at about 0.9.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62, kLeast = std::uint64_t{1} << 15;
  const std::uint64_t needed = std::min(kmers, kMost) / 4 * 5 + 4;
  const std::uint64_t places = std::bit_ceil(std::min(std::max({needed, size, kLeast}), kMost));
  return std::min(2 * k, static_cast<std::uint32_t>(std::countr_zero(places)));
}

/// Jellyfish orders k-mers by a product with a matrix over GF(2), a position, and k-mers of the same position
/// by themselves. `jellyfish query` takes the positions to be uniform when it guesses where a k-mer is, so
/// that real k-mers in lexicographic order would take it an order of magnitude longer. Any linear map will
/// do, and this one needs no matrix to be computed, forwards or backwards: the bits of a k-mer beyond those
/// of a position are stirred and folded onto the lower ones, and these are mixed by xorshifts (G. Marsaglia,
/// "Xorshift RNGs", J. Stat. Software 8 (14), 2003).
///
/// A database with a position for each k-mer that there can be is in lexicographic order, as Jellyfish's own.
///
/// As with Jellyfish's own matrices, position and highest bits together are the k-mer again, and sorting by
/// the number that they make, `rank`, is sorting by position and k-mer.
template <class Key>
class JellyfishOrder {
 public:
  /// `position_bits`: at most 2k and 62, fewer than 2k only from 15 on; jellyfish_position_bits says how
  /// many.
  constexpr JellyfishOrder(std::uint32_t k, std::uint32_t position_bits)
      : position_bits_(position_bits),
        high_bits_(2 * k - position_bits),
        left_(scaled(13)),
        right_(scaled(7)),
        left_again_(scaled(17)) {}

  /// Positions are below 2^this.
  [[nodiscard]] constexpr std::uint32_t position_bits() const { return position_bits_; }
  /// True when positions are the k-mers themselves.
  [[nodiscard]] constexpr bool is_lexicographic() const { return high_bits_ == 0; }

  [[nodiscard]] constexpr std::uint64_t position(Key kmer) const {
    if (is_lexicographic()) return static_cast<std::uint64_t>(kmer);
    return mixed(static_cast<std::uint64_t>(kmer & mask()) ^ folded(kmer >> position_bits_));
  }

  [[nodiscard]] constexpr Key rank(Key kmer) const {
    return static_cast<Key>(Key{position(kmer)} << high_bits_) | (kmer >> position_bits_);
  }

  /// Returns the k-mer of a rank.
  [[nodiscard]] constexpr Key kmer(Key rank) const {
    if (is_lexicographic()) return rank;
    const Key high = rank & ((Key{1} << high_bits_) - 1);
    return static_cast<Key>(high << position_bits_) |
           (unmixed(static_cast<std::uint64_t>(rank >> high_bits_)) ^ folded(high));
  }

 private:
  static constexpr int kRounds = 2;

  /// Returns a shift of 64 bits for as many as a position has.
  [[nodiscard]] constexpr unsigned scaled(unsigned shift) const {
    return std::max(1U, shift * position_bits_ / 63);
  }

  [[nodiscard]] constexpr std::uint64_t mask() const { return (std::uint64_t{1} << position_bits_) - 1; }

  /// Returns the bits beyond a position, as many as fit at a time. They are stirred, for repeats would cancel
  /// themselves, and many k-mers have one position. All k-mers go the same way: the map has to be linear.
  [[nodiscard]] constexpr std::uint64_t folded(Key high) const {
    std::uint64_t fold = 0;
    for (std::uint32_t bits = 0; bits < high_bits_; bits += position_bits_, high >>= position_bits_)
      fold = stirred(fold ^ static_cast<std::uint64_t>(high & mask()));
    return fold;
  }

  [[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t x) const {
    for (int round = 0; round < kRounds; ++round) x = stirred(x);
    return x;
  }
  [[nodiscard]] constexpr std::uint64_t stirred(std::uint64_t x) const {
    x ^= x << left_ & mask();
    x ^= x >> right_;
    return x ^ (x << left_again_ & mask());
  }

  [[nodiscard]] constexpr std::uint64_t unmixed(std::uint64_t x) const {
    for (int round = 0; round < kRounds; ++round) {
      for (unsigned shift = left_again_; shift < position_bits_; shift *= 2) x ^= x << shift & mask();
      for (unsigned shift = right_; shift < position_bits_; shift *= 2) x ^= x >> shift;
      for (unsigned shift = left_; shift < position_bits_; shift *= 2) x ^= x << shift & mask();
    }
    return x;
  }

  std::uint32_t position_bits_;
  std::uint32_t high_bits_;
  unsigned left_, right_, left_again_;
};

}  // namespace warpmer::formats
