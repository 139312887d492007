#pragma once
/// K-mers as their minimizer and what stands on both sides of it.
///
/// A k-mer and its reverse complement are one canonical k-mer; it is written in the orientation in which its
/// minimizer is canonical. So both strands have the same group, layer and flanks. K-mers as read keep their
/// orientation, and their minimizer is an m-mer as read.

#include <cstdint>

#include "groups/group_shape.h"
#include "kmer/hash.h"
#include "kmer/kmer.h"
#include "kmer/minimizer.h"
#include "kmer/platform.h"

namespace warpmer::groups {

/// A k-mer beside its minimizer. Flanks are one number of 2n bits: the left flank's `layer` bases, then the
/// right flank's n - `layer`, the k-mer's first base most significant.
template <class Flanks>
struct FlankedKmer {
  std::uint32_t mmer;   ///< the minimizer as it stands in this orientation, its first base least significant
  std::uint32_t layer;  ///< bases of the left flank
  Flanks flanks;

  friend bool operator==(const FlankedKmer&, const FlankedKmer&) = default;
};

/// Returns what is left of a k-mer without the m-mer behind its first `layer` bases.
template <class Flanks, class Key>
WARPMER_HD constexpr Flanks flanks_of(Key kmer, std::uint32_t layer, const GroupShape& shape) {
  const std::uint32_t right_bases = shape.flank_bases() - layer;
  const Flanks right = static_cast<Flanks>(kmer & key_mask<Key>(right_bases));
  // The left flank may be empty, and a shift by all bits of a key is none.
  const Flanks left = layer == 0 ? 0 : static_cast<Flanks>(kmer >> (2 * (right_bases + shape.m)));
  return right_bases == shape.flank_bases() ? right
                                            : static_cast<Flanks>((left << (2 * right_bases)) | right);
}

/// An m-mer and its reverse complement, the first base of each least significant.
struct BothMmers {
  std::uint32_t forward, reverse;
};

/// Returns the m-mer behind a k-mer's first `at` bases. `other` is the k-mer's reverse complement.
template <class Key>
WARPMER_HD constexpr BothMmers mmers_at(Key kmer, Key other, std::uint32_t at, const GroupShape& shape) {
  const std::uint32_t mask = ~0u >> (32 - 2 * shape.m);
  return {~static_cast<std::uint32_t>(other >> (2 * at)) & mask,
          ~static_cast<std::uint32_t>(kmer >> (2 * (shape.flank_bases() - at))) & mask};
}

/// Returns a k-mer beside the m-mer behind its first `at` bases, in the orientation in which that is
/// canonical. `other` is the k-mer's reverse complement.
template <class Flanks, class Key>
WARPMER_HD constexpr FlankedKmer<Flanks> flanked_at(Key kmer, Key other, std::uint32_t at,
                                                    const GroupShape& shape, bool canonical) {
  const auto [forward, reverse] = mmers_at(kmer, other, at, shape);
  const bool is_forward = !canonical || forward < reverse;
  const std::uint32_t layer = is_forward ? at : shape.flank_bases() - at;
  return {is_forward ? forward : reverse, layer, flanks_of<Flanks>(is_forward ? kmer : other, layer, shape)};
}

/// Finds the place of a k-mer in its group: the definition, one m-mer after the other.
///
/// kmer/minimizer.h says which m-mer is the minimizer. Where it stands several times in the k-mer, that place
/// counts which has the smallest layer in its orientation; of two places with equal layers in opposite
/// orientations, that with the smaller flanks. Both strands obey this rule, because it knows of nothing but
/// the places. Of k-mers as read the first place from the left counts.
template <class Flanks, class Key>
WARPMER_HD constexpr FlankedKmer<Flanks> flanked_kmer(Key kmer, const GroupShape& shape, bool canonical) {
  const Key other = reverse_complement(kmer, shape.k);
  const std::uint32_t n = shape.flank_bases();
  const auto hash_at = [&](std::uint32_t at) {
    const auto [forward, reverse] = mmers_at(kmer, other, at, shape);
    return minimizer_hash(canonical && reverse < forward ? reverse : forward);
  };
  std::uint32_t smallest = UINT32_MAX, first = 0, others = 0;
  for (std::uint32_t at = 0; at <= n; ++at) {
    const std::uint32_t hash = hash_at(at);
    others = hash < smallest ? 0 : others + (hash == smallest ? 1 : 0);
    first = hash < smallest ? at : first;
    smallest = hash < smallest ? hash : smallest;
  }
  const auto placed = [&](std::uint32_t at) { return flanked_at<Flanks>(kmer, other, at, shape, canonical); };
  FlankedKmer<Flanks> best = placed(first);
  if (others == 0 || !canonical) return best;
  for (std::uint32_t at = first + 1; at <= n; ++at) {
    if (hash_at(at) != smallest) continue;
    const FlankedKmer<Flanks> here = placed(at);
    if (here.layer < best.layer || (here.layer == best.layer && here.flanks < best.flanks)) best = here;
  }
  return best;
}

/// Returns the k-mer of a group, layer and flanks, in the orientation of its minimizer: a canonical one may
/// be the reverse complement of what this returns.
template <class Key, class Flanks>
WARPMER_HD constexpr Key kmer_of(const FlankedKmer<Flanks>& flanked, const GroupShape& shape) {
  const std::uint32_t right_bases = shape.flank_bases() - flanked.layer;
  const Key mmer = reverse_pairs_32(flanked.mmer) >> (32 - 2 * shape.m);
  const Key right = static_cast<Key>(flanked.flanks & key_mask<Flanks>(right_bases));
  const Key left = flanked.layer == 0 ? 0 : static_cast<Key>(flanked.flanks >> (2 * right_bases));
  const Key inner = (mmer << (2 * right_bases)) | right;
  return flanked.layer == 0 ? inner : (left << (2 * (right_bases + shape.m))) | inner;
}

/// Consecutive k-mers around one minimizer: `left_bases + right_bases - n + 1` of them. In both flanks the
/// base beside the minimizer is the least significant.
template <class Flank>
struct FlankedSuperKmer {
  std::uint32_t mmer;
  std::uint32_t left_bases, right_bases;  ///< at most n each, at least n together
  Flank left, right;

  friend bool operator==(const FlankedSuperKmer&, const FlankedSuperKmer&) = default;
};

/// Reverses the order of the lowest `bases` bases of a flank; those above them are zero.
WARPMER_HD constexpr Key64 reverse_flank(Key64 flank, std::uint32_t bases) {
  return bases == 0 ? 0 : reverse_pairs(flank) >> (64 - 2 * bases);
}
WARPMER_HD constexpr Key128 reverse_flank(Key128 flank, std::uint32_t bases) {
  const Key128 reversed = (Key128{reverse_pairs(static_cast<std::uint64_t>(flank))} << 64) |
                          reverse_pairs(static_cast<std::uint64_t>(flank >> 64));
  return bases == 0 ? 0 : reversed >> (128 - 2 * bases);
}

/// Returns the flanks, as one number, of the k-mer of a layer of a string whose flanks are `left` and
/// `right`, long enough for it.
template <class Flanks>
WARPMER_HD constexpr Flanks flanks_at(Flanks left, Flanks right, std::uint32_t layer,
                                      std::uint32_t flank_bases) {
  const std::uint32_t right_bases = flank_bases - layer;
  const Flanks after = reverse_flank(static_cast<Flanks>(right & key_mask<Flanks>(right_bases)), right_bases);
  return layer == 0 ? after
                    : static_cast<Flanks>((left & key_mask<Flanks>(layer)) << (2 * right_bases)) | after;
}

/// Returns a k-mer as a super-k-mer of one.
template <class Flanks>
WARPMER_HD constexpr FlankedSuperKmer<Flanks> super_kmer_of(const FlankedKmer<Flanks>& kmer,
                                                            std::uint32_t flank_bases) {
  const std::uint32_t right_bases = flank_bases - kmer.layer;
  const Flanks left = kmer.layer == 0 ? 0 : kmer.flanks >> (2 * right_bases);
  const Flanks right = static_cast<Flanks>(kmer.flanks & key_mask<Flanks>(right_bases));
  return {kmer.mmer, kmer.layer, right_bases, left, reverse_flank(right, right_bases)};
}

}  // namespace warpmer::groups
