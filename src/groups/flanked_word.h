#pragma once
/// Super-k-mers around their minimizer, in a word of fixed size: what travels between cutting and counting.

#include <cstdint>
#include <type_traits>

#include "groups/flanked_kmer.h"
#include "groups/group_shape.h"
#include "groups/shard_layout.h"
#include "kmer/kmer.h"
#include "kmer/platform.h"

namespace warpmer::groups {

/// `Words` 64-bit words. From the top of the little-endian whole: the id of the group below the shard's
/// number, the bases of the left flank, those of the right one; from the bottom: the left flank, the right
/// flank. Bits between are zero, so equal words are equal super-k-mers, and words in order of their values
/// are in order of their groups.
template <int Words>
struct alignas(16) FlankedWord {
  std::uint64_t word[Words];

  friend bool operator==(const FlankedWord&, const FlankedWord&) = default;
};

/// Calls `f.operator()<Words>()` with the words that k-mers of this k, above kMaxDenseK, are cut into.
template <class F>
inline auto with_flanked_words(std::uint32_t k, F&& f) {
  return k <= kMaxNarrowFlanksK ? f.template operator()<2>() : f.template operator()<4>();
}

/// Writes and reads words of one k: `Words` is 2 up to kMaxNarrowFlanksK, else 4, into which even 2n bases
/// fit.
template <int Words>
class FlankedWordFormat {
 public:
  /// An integer that holds the flanks of any k-mer of such a word.
  using Flanks = std::conditional_t<Words == 2, Key64, Key128>;
  using Word = FlankedWord<Words>;

  WARPMER_HD explicit constexpr FlankedWordFormat(const GroupShape& shape)
      : rest_bits_(shape.rest_bits()),
        length_bits_(bits_of(shape.flank_bases())),
        most_bases_((64 * Words - rest_bits_ - 2 * length_bits_) / 2) {}

  /// Returns the most bases of both flanks. A super-k-mer that has more is cut in several.
  WARPMER_HD constexpr std::uint32_t most_bases() const { return most_bases_; }

  WARPMER_HD constexpr FlankedWord<Words> pack(std::uint32_t rest,
                                               const FlankedSuperKmer<Flanks>& super) const {
    FlankedWord<Words> result{};
    put(result, 0, super.left);
    put(result, 2 * super.left_bases, super.right);
    const std::uint64_t lengths = (std::uint64_t{super.left_bases} << length_bits_) | super.right_bases;
    result.word[Words - 1] |= ((std::uint64_t{rest} << (2 * length_bits_)) | lengths)
                              << (64 - rest_bits_ - 2 * length_bits_);
    return result;
  }

  WARPMER_HD constexpr std::uint32_t rest(const FlankedWord<Words>& from) const {
    return static_cast<std::uint32_t>(from.word[Words - 1] >> (64 - rest_bits_));
  }
  /// Returns the super-k-mer, but for its minimizer.
  WARPMER_HD constexpr FlankedSuperKmer<Flanks> super_kmer(const FlankedWord<Words>& from) const {
    const std::uint64_t lengths = from.word[Words - 1] >> (64 - rest_bits_ - 2 * length_bits_);
    const std::uint64_t mask = (std::uint64_t{1} << length_bits_) - 1;
    const auto right_bases = static_cast<std::uint32_t>(lengths & mask);
    const auto left_bases = static_cast<std::uint32_t>((lengths >> length_bits_) & mask);
    return {0, left_bases, right_bases, get(from, 0, left_bases), get(from, 2 * left_bases, right_bases)};
  }

 private:
  WARPMER_HD static constexpr void put(FlankedWord<Words>& to, std::uint32_t at, Flanks value) {
    const std::uint32_t shift = at % 64;
    for (std::uint32_t i = at / 64; i < Words && value != 0; ++i) {
      to.word[i] |= static_cast<std::uint64_t>(value) << (i == at / 64 ? shift : 0);
      value = i == at / 64 && shift != 0
                  ? static_cast<Flanks>(value >> (64 - shift))
                  : static_cast<Flanks>(sizeof(Flanks) == 8 ? 0 : value >> (64 % (8 * sizeof(Flanks))));
    }
  }
  WARPMER_HD static constexpr Flanks get(const FlankedWord<Words>& from, std::uint32_t at,
                                         std::uint32_t bases) {
    if constexpr (Words == 2) {
      const Key128 all = (Key128{from.word[1]} << 64) | from.word[0];
      return static_cast<Flanks>(all >> at) & key_mask<Flanks>(bases);
    }
    const std::uint32_t shift = at % 64, first = at / 64;
    const auto part = [&](std::uint32_t i) -> std::uint64_t {
      const std::uint64_t low = i < Words ? from.word[i] : 0, high = i + 1 < Words ? from.word[i + 1] : 0;
      return shift == 0 ? low : (low >> shift) | (high << (64 - shift));
    };
    Flanks value = part(first);
    if constexpr (sizeof(Flanks) == 16) value |= Flanks{part(first + 1)} << 64;
    return static_cast<Flanks>(value & key_mask<Flanks>(bases));
  }

  std::uint32_t rest_bits_, length_bits_, most_bases_;
};

}  // namespace warpmer::groups
