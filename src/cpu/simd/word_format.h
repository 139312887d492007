#pragma once
/// Pending super-k-mers in as many bytes as they need: how a word is written, one behind the other, and read.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "groups/flanked_word.h"
#include "groups/group_shape.h"

namespace warpmer::cpu {

/// Writes and reads words of one kind and one k.
template <class Word>
class WordFormat;

/// A FlankedWord as it comes from its page, where the id and the lengths stand in front of the flanks; behind
/// them is anything.
template <int Words>
struct alignas(16) StoredFlankedWord {
  std::uint64_t word[Words];
};

/// Reads such words, as groups::FlankedWordFormat does its own.
template <int Words>
class StoredFlankedFormat {
 public:
  using Flanks = typename groups::FlankedWordFormat<Words>::Flanks;
  using Word = StoredFlankedWord<Words>;

  explicit StoredFlankedFormat(const groups::GroupShape& shape)
      : flank_bases_(shape.flank_bases()),
        length_bits_(groups::bits_of(shape.flank_bases())),
        length_mask_((1u << length_bits_) - 1),
        head_bits_(shape.rest_bits() + 2 * length_bits_),
        rest_mask_((1u << shape.rest_bits()) - 1) {}

  [[nodiscard]] std::uint32_t flank_bases() const { return flank_bases_; }
  /// Returns the bits of the id and the lengths.
  [[nodiscard]] std::uint32_t head_bits() const { return head_bits_; }
  /// Returns the bases of both flanks, of a word's id and lengths.
  [[nodiscard]] std::uint32_t bases(std::uint64_t head) const {
    return static_cast<std::uint32_t>((head & length_mask_) + (head >> length_bits_ & length_mask_));
  }
  [[nodiscard]] std::uint32_t rest(const Word& word) const {
    return static_cast<std::uint32_t>(word.word[0] >> (2 * length_bits_)) & rest_mask_;
  }
  /// Returns the super-k-mer, but for its minimizer.
  [[nodiscard]] groups::FlankedSuperKmer<Flanks> super_kmer(const Word& word) const {
    const auto right_bases = static_cast<std::uint32_t>(word.word[0] & length_mask_);
    const auto left_bases = static_cast<std::uint32_t>(word.word[0] >> length_bits_ & length_mask_);
    return {0, left_bases, right_bases, get(word, head_bits_, left_bases),
            get(word, head_bits_ + 2 * left_bases, right_bases)};
  }

 private:
  [[nodiscard]] static Flanks get(const Word& word, std::uint32_t at, std::uint32_t bases) {
    Key128 from;
    if constexpr (Words == 2) {
      std::memcpy(&from, word.word, sizeof from);
      return static_cast<Flanks>(from >> at) & key_mask<Flanks>(bases);
    } else {
      // From a whole byte on: at most 7 bits less than 128, and no flank has more than 98.
      const std::uint32_t byte = std::min(at / 8, static_cast<std::uint32_t>(sizeof word - sizeof from));
      std::memcpy(&from, reinterpret_cast<const char*>(word.word) + byte, sizeof from);
      return static_cast<Flanks>(from >> (at - 8 * byte)) & key_mask<Flanks>(bases);
    }
  }

  std::uint32_t flank_bases_, length_bits_;
  std::uint64_t length_mask_;
  std::uint32_t head_bits_, rest_mask_;
};

/// A super-k-mer around its minimizer needs the id of its group, both lengths and its flanks; the bits
/// between are empty. Turned left so far that the id and the lengths stand in front of the flanks, what is
/// empty is at the end; it is cut off in whole bytes. (little-endian)
template <int Words>
class WordFormat<groups::FlankedWord<Words>> {
 public:
  using Word = groups::FlankedWord<Words>;
  using Stored = StoredFlankedWord<Words>;
  /// As above.
  static constexpr std::size_t kMostBytes = sizeof(Word);

  explicit WordFormat(std::uint32_t k) : stored_(groups::GroupShape(k)) {}

  /// Returns the number of k-mers, 0 for a word of joined ones (groups/repeated_kmer.h): it is for how much
  /// memory counting takes.
  [[nodiscard]] std::uint32_t kmers(const Word& word) const {
    return stored_.bases(word.word[Words - 1] >> (64 - stored_.head_bits())) - stored_.flank_bases() + 1;
  }
  /// Returns the bytes that so many words with so many k-mers take, at most.
  [[nodiscard]] std::size_t bytes_for(std::size_t words, std::uint64_t kmers) const {
    return words + (words * (stored_.head_bits() + 2 * (stored_.flank_bases() - 1)) + 2 * kmers) / 8;
  }
  /// Turns a word so that it is as it comes from its page.
  [[nodiscard]] Stored turned(const Word& word) const {
    const std::uint32_t head = stored_.head_bits();
    Stored turned;
    for (int i = 0; i < Words; ++i)
      turned.word[i] = word.word[i] << head | word.word[(i + Words - 1) % Words] >> (64 - head);
    return turned;
  }
  /// Writes a word, and returns where the next one goes.
  char* write(const Word& word, char* to) const { return write(turned(word), to); }
  /// Does so with a word that has been turned.
  char* write(const Stored& word, char* to) const {
    std::memcpy(to, word.word, sizeof word.word);
    return to + bytes(word.word[0]);
  }
  /// Reads a word, and returns where the next one is.
  const char* read(const char* from, Stored& word) const {
    std::memcpy(word.word, from, sizeof word.word);
    return from + bytes(word.word[0]);
  }

 private:
  [[nodiscard]] std::size_t bytes(std::uint64_t head) const {
    return (stored_.head_bits() + 2 * stored_.bases(head) + 7) / 8;
  }

  StoredFlankedFormat<Words> stored_;
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
