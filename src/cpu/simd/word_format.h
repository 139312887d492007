#pragma once
/// Pending super-k-mers in as many bytes as they need: how a word is written, one behind the other, and read.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kmer/super_kmer.h"

namespace warpmer::cpu {

/// A word's number of k-mers takes so many bits.
inline constexpr std::uint32_t kWordCountBits = 6;

/// A super-k-mer has a word of 16 or 32 bytes, of which a third is empty for k = 31 on average, and more for
/// smaller k. Turned left by six bits, so that the number of k-mers stands in front of the bases, what is
/// empty is at the end; it is cut off in whole bytes, and the number says how many are left. (little-endian)
template <int Words>
class WordFormat {
 public:
  using Word = SuperKmer<Words>;
  static_assert(Word::kMaxKmers <= 1u << kWordCountBits);
  /// Most bytes that a word takes. So many bytes are touched where one is written or read, whatever it takes.
  static constexpr std::size_t kMostBytes = sizeof(Word);

  explicit WordFormat(std::uint32_t k) : k_(k) {
    for (std::uint32_t less = 0; less < kCounts; ++less) {
      for (std::uint32_t i = 0; i < Words; ++i) {
        const std::uint32_t bits = 2 * (k + less) + kCountBits, before = 64 * i;
        masks_[less][i] = bits >= before + 64 ? ~std::uint64_t{0}
                          : bits > before     ? (std::uint64_t{1} << (bits - before)) - 1
                                              : 0;
      }
    }
  }

  /// Writes a word of k-mers of this k, and returns where the next one goes.
  char* write(const Word& word, char* to) const {
    std::uint64_t turned[Words];
    for (int i = 0; i < Words; ++i)
      turned[i] = word.word[i] << kCountBits | word.word[(i + Words - 1) % Words] >> (64 - kCountBits);
    std::memcpy(to, turned, sizeof turned);
    return to + bytes(turned[0] % kCounts);
  }

  /// Reads a word, and returns where the next one is.
  const char* read(const char* from, Word& word) const {
    std::uint64_t turned[Words];
    std::memcpy(turned, from, sizeof turned);
    const std::uint64_t less = turned[0] % kCounts;
    for (int i = 0; i < Words; ++i) turned[i] &= masks_[less][i];
    for (int i = 0; i < Words; ++i)
      word.word[i] = turned[i] >> kCountBits | turned[(i + 1) % Words] << (64 - kCountBits);
    return from + bytes(less);
  }

 private:
  static constexpr std::uint32_t kCountBits = kWordCountBits, kCounts = 1u << kCountBits;

  /// Returns the bytes of a word with one k-mer more than `less`: its bases, and three for the number, four
  /// to a byte.
  [[nodiscard]] std::size_t bytes(std::uint64_t less) const { return (k_ + less + kCountBits / 2 + 3) / 4; }

  std::uint64_t k_;
  alignas(64) std::uint64_t masks_[kCounts][Words];
};

/// Returns what words take on average, as WordFormat writes them, that have so many k-mers on average.
inline double mean_word_bytes(std::uint32_t k, double kmers) {
  // In the last byte 0, 2, 4 or 6 bits are empty.
  constexpr double kEmptyBits = 3;
  return (2 * (k - 1 + kmers) + kWordCountBits + kEmptyBits) / 8;
}

}  // namespace warpmer::cpu
