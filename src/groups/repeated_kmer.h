#pragma once
/// A k-mer that stands many times in a row, because all of it is one base: as one super-k-mer with a number.
///
/// Where a sequencer sees nothing it writes "GGGG...", and RNA ends in "AAAA...". There each k-mer is a
/// super-k-mer by itself, whose minimizer is at its first base, so a read is as many words as it has k-mers,
/// and all of them are of one shard. Equal ones that follow each other are joined before they are kept: less
/// memory, and no shard that takes one thread longer than all others together.

#include <algorithm>
#include <cstdint>

#include "groups/flanked_kmer.h"
#include "kmer/kmer.h"

namespace warpmer::groups {

/// Joined k-mers look like a super-k-mer with flanks of n - 1 bases together, which is too short for any
/// k-mer. The left flank has as many bases as the number of the base that repeats (0 to 3); in the bits of
/// both flanks, from the bottom, stands how many k-mers there are.
template <class Flanks>
class RepeatedKmers {
 public:
  using Super = FlankedSuperKmer<Flanks>;

  explicit constexpr RepeatedKmers(std::uint32_t flank_bases) : n_(flank_bases) {}

  /// True where flanks are long enough: for k from 15 on.
  [[nodiscard]] constexpr bool can_join() const { return n_ > 3; }
  /// Returns how many k-mers may be joined to one.
  [[nodiscard]] constexpr std::uint32_t most_times() const {
    return (1u << std::min(kMostBits, 2 * (n_ - 1))) - 1;
  }
  /// True of a k-mer that may be joined with equal ones.
  [[nodiscard]] constexpr bool is_of_one_base(const Super& super) const {
    return super.left_bases == 0 && super.right_bases == n_ && super.right == flank(super.right & 3);
  }

  [[nodiscard]] constexpr Super join(const Super& kmer, std::uint32_t times) const {
    const auto base = static_cast<std::uint32_t>(kmer.right & 3);
    return {kmer.mmer, base, n_ - 1 - base, times & key_mask<Flanks>(base), Flanks{times} >> (2 * base)};
  }
  /// Return whether a super-k-mer, or one of flanks of so many bases together, is joined k-mers.
  [[nodiscard]] constexpr bool is_joined(const Super& super) const {
    return is_joined(super.left_bases + super.right_bases);
  }
  [[nodiscard]] constexpr bool is_joined(std::uint32_t bases) const { return bases < n_; }
  /// Return the k-mer that was joined, and how many times.
  [[nodiscard]] constexpr Super kmer(const Super& joined) const {
    return {joined.mmer, 0, n_, 0, flank(joined.left_bases)};
  }
  [[nodiscard]] constexpr std::uint32_t times(const Super& joined) const {
    return static_cast<std::uint32_t>(joined.left | joined.right << (2 * joined.left_bases));
  }

 private:
  static constexpr std::uint32_t kMostBits = 16;

  [[nodiscard]] constexpr Flanks flank(Flanks base) const { return key_mask<Flanks>(n_) / 3 * base; }

  std::uint32_t n_;
};

}  // namespace warpmer::groups
