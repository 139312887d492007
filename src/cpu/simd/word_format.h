#pragma once
/// Pending super-k-mers in as many bytes as they need: how a word is written, one behind the other, and read.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "groups/flanked_word.h"
#include "kmer/super_kmer.h"

namespace warpmer::cpu {

/// Writes and reads words of one kind and one k.
template <class Word>
class WordFormat;

/// A word's number of k-mers takes so many bits.
inline constexpr std::uint32_t kWordCountBits = 6;

/// A super-k-mer has a word of 16 or 32 bytes, of which a third is empty for k = 31 on average, and more for
/// smaller k. Turned left by six bits, so that the number of k-mers stands in front of the bases, what is
/// empty is at the end; it is cut off in whole bytes, and the number says how many are left. (little-endian)
template <int Words>
class WordFormat<SuperKmer<Words>> {
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

  [[nodiscard]] static std::uint32_t kmers(const Word& word) { return word.kmers(); }
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

/// A super-k-mer around its minimizer needs the id of its group, both lengths and its flanks; the bits
/// between are empty. Turned left so far that the id and the lengths stand in front of the flanks, what is
/// empty is at the end; it is cut off in whole bytes. (little-endian)
template <int Words>
class WordFormat<groups::FlankedWord<Words>> {
 public:
  using Word = groups::FlankedWord<Words>;
  /// As above.
  static constexpr std::size_t kMostBytes = sizeof(Word);

  explicit WordFormat(std::uint32_t k) : WordFormat(groups::GroupShape(k)) {}

  [[nodiscard]] std::uint32_t kmers(const Word& word) const {
    return bases(word.word[Words - 1] >> (64 - head_bits_)) - flank_bases_ + 1;
  }
  /// Writes a word, and returns where the next one goes.
  char* write(const Word& word, char* to) const {
    std::uint64_t turned[Words];
    for (int i = 0; i < Words; ++i)
      turned[i] = word.word[i] << head_bits_ | word.word[(i + Words - 1) % Words] >> (64 - head_bits_);
    std::memcpy(to, turned, sizeof turned);
    return to + bytes(bases(turned[0]));
  }
  /// Reads a word, and returns where the next one is.
  const char* read(const char* from, Word& word) const {
    std::uint64_t turned[Words];
    std::memcpy(turned, from, sizeof turned);
    const std::uint32_t n = bases(turned[0]);
    for (int i = 0; i < Words; ++i) turned[i] &= masks_[n][i];
    for (int i = 0; i < Words; ++i)
      word.word[i] = turned[i] >> head_bits_ | turned[(i + 1) % Words] << (64 - head_bits_);
    return from + bytes(n);
  }

 private:
  explicit WordFormat(const groups::GroupShape& shape)
      : flank_bases_(shape.flank_bases()),
        length_bits_(groups::bits_of(shape.flank_bases())),
        length_mask_((1u << length_bits_) - 1),
        head_bits_(shape.rest_bits() + 2 * length_bits_) {
    for (std::uint32_t n = 0; n < kMostBases; ++n) {
      for (std::uint32_t i = 0; i < Words; ++i) {
        const std::uint32_t bits = 2 * n + head_bits_, before = 64 * i;
        masks_[n][i] = bits >= before + 64 ? ~std::uint64_t{0}
                       : bits > before     ? (std::uint64_t{1} << (bits - before)) - 1
                                           : 0;
      }
    }
  }

  /// The lengths are two fields of at most 6 bits.
  static constexpr std::uint32_t kMostBases = 128;

  /// Returns the bases of both flanks, of a word's id and lengths.
  [[nodiscard]] std::uint32_t bases(std::uint64_t head) const {
    return static_cast<std::uint32_t>((head & length_mask_) + (head >> length_bits_ & length_mask_));
  }
  [[nodiscard]] std::size_t bytes(std::uint32_t n) const { return (head_bits_ + 2 * n + 7) / 8; }

  std::uint32_t flank_bases_, length_bits_;
  std::uint64_t length_mask_;
  std::uint32_t head_bits_;
  alignas(64) std::uint64_t masks_[kMostBases][Words];
};

/// Returns what words around minimizers take on average, that have so many k-mers on average.
inline double mean_flanked_bytes(std::uint32_t k, double kmers) {
  // In the last byte 0, 2, 4 or 6 bits are empty.
  constexpr double kEmptyBits = 3;
  const groups::GroupShape shape(k);
  const double head = shape.rest_bits() + 2 * groups::bits_of(shape.flank_bases());
  return (head + 2 * (shape.flank_bases() - 1 + kmers) + kEmptyBits) / 8;
}

}  // namespace warpmer::cpu
