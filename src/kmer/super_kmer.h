#pragma once
/// Super-k-mer words: consecutive k-mers that share their minimizer, in a word of fixed size.

#include <cstdint>

#include "kmer/kmer.h"
#include "kmer/platform.h"

namespace warpmer {

/// `Words` 64-bit words. Base i stands in bits 2i and 2i + 1 of the little-endian whole; the top 6
/// bits hold the number of k-mers less one; bits between are zero. So equal words are equal
/// super-k-mers, and 16 bytes hold 61 bases, 32 bytes 125.
template <int Words>
struct alignas(16) SuperKmer {
  static constexpr std::uint32_t kMaxBases = (64 * Words - 6) / 2;
  /// So that a 16-byte word's k-mers are all less than one 64-bit word apart.
  static constexpr std::uint32_t kMaxKmers = 16 * Words;

  std::uint64_t word[Words];

  WARPMER_HD std::uint32_t kmers() const { return static_cast<std::uint32_t>(word[Words - 1] >> 58) + 1; }

  WARPMER_HD friend bool operator==(const SuperKmer& a, const SuperKmer& b) {
    std::uint64_t difference = 0;
    for (int i = 0; i < Words; ++i) difference |= a.word[i] ^ b.word[i];
    return difference == 0;
  }
};

/// 16-byte words up to here, 32-byte words above. A k-mer takes 1.62 and 1.77 bytes in them at k = 48,
/// and 2.54 and 1.48 at k = 55 (genome of C. elegans).
inline constexpr std::uint32_t kMaxShortWordK = 48;

/// Calls `f` with the key type and the words of a super-k-mer that k needs, as template arguments:
/// `f.template operator()<Key, Words>()`.
template <class F>
inline auto with_shard_types(std::uint32_t k, F&& f) {
  if (k <= kMaxNarrowK) return f.template operator()<Key64, 2>();
  if (k <= kMaxShortWordK) return f.template operator()<Key128, 2>();
  return f.template operator()<Key128, 4>();
}

/// Returns the most k-mers one word takes; longer super-k-mers are cut in several, sharing k - 1 bases.
template <int Words>
WARPMER_HD constexpr std::uint32_t max_kmers_per_word(std::uint32_t k) {
  const std::uint32_t fit = SuperKmer<Words>::kMaxBases - k + 1;
  return fit < SuperKmer<Words>::kMaxKmers ? fit : SuperKmer<Words>::kMaxKmers;
}

/// Takes a word apart into its k-mers: both strands of the i-th are shifts of two constants.
template <class Key, int Words>
class SuperKmerReader {
 public:
  WARPMER_HD SuperKmerReader(const SuperKmer<Words>& super, std::uint32_t k)
      : kmers_(super.kmers()), mask_(key_mask<Key>(k)) {
    const std::uint32_t unused_bits = 64 * Words - 2 * (kmers_ + k - 1);
    std::uint64_t reversed[Words];
    for (int i = 0; i < Words; ++i) {
      reverse_[i] = ~super.word[i];
      reversed[i] = reverse_pairs(super.word[Words - 1 - i]);
    }
    // The last base comes to stand in the lowest bits; the number of k-mers falls out at the top. (Whole
    // words move by selection, not by index: a GPU has no indexable registers.)
    for (int moved = 1; moved < Words; ++moved) {
      if (unused_bits < 64u * static_cast<std::uint32_t>(moved)) break;
      for (int i = 0; i < Words; ++i) reversed[i] = i + 1 < Words ? reversed[i + 1] : 0;
    }
    for (int i = 0; i < Words; ++i)
      forward_[i] = funnel(reversed[i], i + 1 < Words ? reversed[i + 1] : 0, unused_bits % 64);
  }

  WARPMER_HD std::uint32_t kmers() const { return kmers_; }
  /// Returns the i-th k-mer as read.
  WARPMER_HD Key forward(std::uint32_t i) const { return extract(forward_, 2 * (kmers_ - 1 - i)); }
  /// Returns its reverse complement.
  WARPMER_HD Key reverse(std::uint32_t i) const { return extract(reverse_, 2 * i); }
  WARPMER_HD Key canonical(std::uint32_t i) const {
    const Key a = forward(i), b = reverse(i);
    return a < b ? a : b;
  }

  /// Return the two constants, for vector code that does the same shifts in lanes.
  WARPMER_HD const std::uint64_t* forward_words() const { return forward_; }
  WARPMER_HD const std::uint64_t* reverse_words() const { return reverse_; }

 private:
  WARPMER_HD static std::uint64_t funnel(std::uint64_t low, std::uint64_t high, std::uint32_t shift) {
    return (low >> shift) | ((high << 1) << (63 - shift));
  }
  WARPMER_HD std::uint64_t bits_at(const std::uint64_t* words, std::uint32_t shift) const {
    const std::uint32_t from = shift / 64;
    return funnel(from < Words ? words[from] : 0, from + 1 < Words ? words[from + 1] : 0, shift % 64);
  }
  WARPMER_HD Key extract(const std::uint64_t* words, std::uint32_t shift) const {
    if constexpr (sizeof(Key) == 8) {
      return bits_at(words, shift) & mask_;
    } else {
      return ((Key{bits_at(words, shift + 64)} << 64) | bits_at(words, shift)) & mask_;
    }
  }

  std::uint32_t kmers_;
  Key mask_;
  std::uint64_t forward_[Words];  ///< bases reversed: the last base lowest
  std::uint64_t reverse_[Words];  ///< complemented: base 0 lowest, which is the other strand's last
};

}  // namespace warpmer
