#pragma once
/// Hashes of k-mers to their shards and keys, in fewer steps than the definition (groups/flanked_kmer.h).

#include <cstdint>

#include "groups/group_key.h"
#include "kmer/hash.h"

namespace warpmer::gpu {

template <class Kmer, class Key>
class QuickPlace {
 public:
  using Keys = groups::GroupKeys<Key, Key>;

  __device__ QuickPlace(const Keys& keys, bool canonical)
      : keys_(keys), hash_(keys.shape().k), canonical_(canonical) {}

  __device__ typename Keys::Place operator()(Kmer hash) const {
    const Kmer kmer = hash_.inverse(hash);
    const groups::GroupShape& shape = keys_.shape();
    const std::uint32_t n = shape.flank_bases();
    const Kmer other = reverse_complement(kmer, shape.k);
    const Windows windows(other, ~kmer, shape);
    // The number of a place takes the lowest bits of its hash; places that differ in no others are ties.
    std::uint32_t best = UINT32_MAX, second = UINT32_MAX;
    windows.for_each([&](std::uint32_t i, std::uint32_t mmer, std::uint32_t reversed) {
      const std::uint32_t hashed = minimizer_hash(canonical_ ? min(mmer, reversed) : mmer);
      const std::uint32_t numbered = (hashed & ~kPlaces) | i;
      second = min(second, max(best, numbered));
      best = min(best, numbered);
    });
    // Where the minimizer stands twice only the definition says which place counts; that is rare.
    if (((best ^ second) & ~kPlaces) == 0) return keys_.place(kmer, canonical_);
    const std::uint32_t at = best & kPlaces;
    const std::uint32_t mmer = static_cast<std::uint32_t>(~other >> (2 * at)) & (~0u >> (32 - 2 * shape.m));
    const std::uint32_t reversed = other_strand(mmer, shape.m);
    const bool is_forward = !canonical_ || mmer < reversed;
    const std::uint32_t layer = is_forward ? at : n - at;
    const Key flanks = groups::flanks_of<Key>(is_forward ? kmer : other, layer, shape);
    const std::uint32_t id = GroupHash(shape.m)(is_forward ? mmer : reversed);
    return {shape.shard_of(id), keys_.pack(shape.rest_of(id), layer, flanks)};
  }

 private:
  static constexpr std::uint32_t kPlaces = 63;  ///< there are at most k - m + 1 = 50 of them

  /// The m-mers of a k-mer on both strands, the first base least significant.
  class Windows {
   public:
    /// `other` is the reverse complement, and `complement` the complement that is not reversed.
    __device__ Windows(Kmer other, Kmer complement, const groups::GroupShape& shape)
        : n_(shape.flank_bases()), down_(32 - 2 * shape.m) {
      // M-mers of this strand are at the low end, from where they come, and those of the other at the high
      // end.
      const Kmer forward = ~other, backward = complement << (kKeyBits<Kmer> - 2 * shape.k);
#pragma unroll
      for (std::uint32_t w = 0; w < kWords; ++w) {
        forward_[w] = static_cast<std::uint32_t>(forward >> (32 * w));
        backward_[w] = static_cast<std::uint32_t>(backward >> (kKeyBits<Kmer> - 32 - 32 * w));
      }
      forward_[kWords] = backward_[kWords] = 0;
    }
    /// Calls `visit(place, m-mer, that of the other strand)` for each place.
    template <class Visit>
    __device__ void for_each(Visit&& visit) const {
      const std::uint32_t mask = ~0u >> down_;
#pragma unroll
      for (std::uint32_t w = 0; w < kWords; ++w) {
        const auto visit_one = [&](std::uint32_t i) {
          visit(16 * w + i, __funnelshift_r(forward_[w], forward_[w + 1], 2 * i) & mask,
                __funnelshift_l(backward_[w + 1], backward_[w], 2 * i) >> down_);
        };
        if (n_ >= 16 * w + 15) {
#pragma unroll
          for (std::uint32_t i = 0; i < 16; ++i) visit_one(i);
        } else {
#pragma unroll 1
          for (std::uint32_t i = 0; 16 * w + i <= n_; ++i) visit_one(i);
        }
      }
    }

   private:
    static constexpr std::uint32_t kWords = sizeof(Kmer) / 4;
    std::uint32_t n_, down_;
    std::uint32_t forward_[kWords + 1], backward_[kWords + 1];
  };

  Keys keys_;
  KmerHash<Kmer> hash_;
  bool canonical_;
};

}  // namespace warpmer::gpu
