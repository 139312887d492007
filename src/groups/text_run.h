#pragma once
/// Super-k-mers of packed text, as a GPU has it: words of 32 bits, sixteen bases in each, the first lowest.
/// bench/flanked_cut.h has the definition.

#include <cstdint>

#include "groups/flanked_kmer.h"
#include "groups/group_shape.h"
#include "kmer/kmer.h"
#include "kmer/minimizer.h"
#include "kmer/platform.h"

namespace warpmer::groups {

/// Consecutive k-mers of a text that have the same minimizer.
struct TextRun {
  std::uint32_t start;      ///< of the first k-mer
  std::uint32_t kmers;      ///< 1 to kMostKmers
  std::uint32_t minimizer;  ///< bases from `start` to it; or kSeveral

  /// It stands there more than once, so that the place that counts may change from k-mer to k-mer.
  static constexpr std::uint32_t kSeveral = 63;
  /// There are at most k - m + 1 = 50 of them around one place.
  static constexpr std::uint32_t kMostKmers = 64;
};

/// Returns the place of the minimizer that consecutive k-mers have in common, or TextRun::kSeveral.
/// `hash_at(i)` is the hash of their i-th m-mer.
template <class HashAt>
WARPMER_HD_INLINE std::uint32_t minimizer_place(std::uint32_t kmers, std::uint32_t flank_bases,
                                                HashAt&& hash_at) {
  std::uint32_t least = hash_at(0), place = 0;
  bool is_again = false;
  for (std::uint32_t i = 1; i < kmers + flank_bases; ++i) {
    const std::uint32_t hash = hash_at(i);
    is_again = hash == least || (is_again && hash > least);
    place = hash < least ? i : place;
    least = hash < least ? hash : least;
  }
  return is_again ? TextRun::kSeveral : place;
}

/// Returns sixteen bases of a text from `at` on. Reads the word behind the first one's.
WARPMER_HD_INLINE std::uint32_t sixteen_bases(const std::uint32_t* packed, std::uint32_t at) {
  const std::uint32_t low = packed[at / 16], high = packed[at / 16 + 1], shift = 2 * (at % 16);
#if defined(__CUDA_ARCH__)
  return __funnelshift_r(low, high, shift);
#else
  return static_cast<std::uint32_t>((std::uint64_t{high} << 32 | low) >> shift);
#endif
}

/// Returns some bases, as many as a Key holds or fewer, the first lowest. Reads as many words as for all.
template <class Key>
WARPMER_HD_INLINE Key text_bases(const std::uint32_t* packed, std::uint32_t at, std::uint32_t bases) {
  Key text = std::uint64_t{sixteen_bases(packed, at)} | std::uint64_t{sixteen_bases(packed, at + 16)} << 32;
  if constexpr (sizeof(Key) == 16) {
    text |= Key{std::uint64_t{sixteen_bases(packed, at + 32)} | std::uint64_t{sixteen_bases(packed, at + 48)}
                                                                    << 32}
            << 64;
  }
  return text & key_mask<Key>(bases);
}

/// A super-k-mer of a text.
template <class Flanks>
struct TextSuperKmer {
  FlankedSuperKmer<Flanks> super;
  bool is_forward;  ///< the left flank stands first in the text; else the last k-mer is the leftmost
};

/// Returns the k-mers of a run whose minimizer stands there once.
template <class Flanks>
WARPMER_HD_INLINE TextSuperKmer<Flanks> super_kmer_at(const std::uint32_t* packed, const TextRun& run,
                                                      const GroupShape& shape, bool canonical) {
  const std::uint32_t at = run.start + run.minimizer, left = run.minimizer;
  const std::uint32_t right = run.kmers + shape.flank_bases() - 1 - left;
  const Flanks before = reverse_flank(text_bases<Flanks>(packed, run.start, left), left);
  const Flanks after = text_bases<Flanks>(packed, at + shape.m, right);
  const std::uint32_t mmer = sixteen_bases(packed, at) & static_cast<std::uint32_t>(key_mask<Key64>(shape.m));
  const std::uint32_t other = other_strand(mmer, shape.m);
  if (!canonical || mmer < other) return {{mmer, left, right, before, after}, true};
  return {{other, right, left, static_cast<Flanks>(~after & key_mask<Flanks>(right)),
           static_cast<Flanks>(~before & key_mask<Flanks>(left))},
          false};
}

/// Returns the k-mer at a start, whose minimizer may stand there several times.
template <class Key, class Flanks>
WARPMER_HD_INLINE FlankedSuperKmer<Flanks> kmer_at(const std::uint32_t* packed, std::uint32_t start,
                                                   const GroupShape& shape, bool canonical) {
  const Key kmer = reverse_flank(text_bases<Key>(packed, start, shape.k), shape.k);
  return super_kmer_of(flanked_kmer<Flanks>(kmer, shape, canonical), shape.flank_bases());
}

}  // namespace warpmer::groups
