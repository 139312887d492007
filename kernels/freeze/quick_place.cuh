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
    const Windows windows(other, ~kmer, shape, canonical_);
    // The number of a place takes the lowest bits of its hash: of places that differ in no others, which are
    // ties, one smallest value is that of the first and the other that of the last.
    std::uint32_t best = UINT32_MAX, last_best = UINT32_MAX;
    windows.for_each([&](std::uint32_t i, std::uint32_t mmer) {
      const std::uint32_t hash = minimizer_hash(mmer) & ~kPlaces;
      best = min(best, hash + i);  // one instruction, of DPX
      last_best = min(last_best, hash + (kPlaces - i));
    });
    // Where the minimizer stands twice only the definition says which place counts; that is rare.
    if ((best ^ last_best) != kPlaces) return keys_.place(kmer, canonical_);
    const std::uint32_t at = best & kPlaces;
    const std::uint32_t mask = ~0u >> (32 - 2 * shape.m);
    const std::uint32_t mmer = ~static_cast<std::uint32_t>(other >> (2 * at)) & mask;
    const std::uint32_t reversed = ~static_cast<std::uint32_t>(kmer >> (2 * (n - at))) & mask;
    const bool is_forward = !canonical_ || mmer < reversed;
    const std::uint32_t layer = is_forward ? at : n - at;
    const Key flanks = groups::flanks_of<Key>(is_forward ? kmer : other, layer, shape);
    const std::uint32_t id = GroupHash(shape.m)(is_forward ? mmer : reversed);
    return {shape.shard_of(id), keys_.pack(shape.rest_of(id), layer, flanks)};
  }

 private:
  static constexpr std::uint32_t kPlaces = 63;  ///< there are at most k - m + 1 = 50 of them

  /// The m-mers of a k-mer, each as it stands or, of canonical k-mers, in its canonical form.
  class Windows {
   public:
    /// `other` is the reverse complement, and `complement` the complement that is not reversed.
    __device__ Windows(Kmer other, Kmer complement, const groups::GroupShape& shape, bool canonical)
        : n_(shape.flank_bases()), down_(32 - 2 * shape.m) {
      // Both strands have their first m-mer at the high end of a word, and 32 - 2m bits of no meaning behind
      // it. These do not matter: the smaller word has the smaller m-mer, or both are equal.
      const Kmer forward = ~other, backward = complement << (kKeyBits<Kmer> - 2 * shape.k);
      std::uint32_t before = 0;
#pragma unroll
      for (std::uint32_t w = 0; w < kWords; ++w) {
        const auto word = static_cast<std::uint32_t>(forward >> (32 * w));
        forward_[w] = __funnelshift_l(before, word, down_);
        before = word;
        // Nothing is above this, so that m-mers as read remain.
        backward_[w] =
            canonical ? static_cast<std::uint32_t>(backward >> (kKeyBits<Kmer> - 32 - 32 * w)) : UINT32_MAX;
      }
      forward_[kWords] = __funnelshift_l(before, 0, down_);
      backward_[kWords] = canonical ? 0 : UINT32_MAX;
    }
    /// Calls `visit(place, m-mer)` for each place.
    template <class Visit>
    __device__ void for_each(Visit&& visit) const {
#pragma unroll
      for (std::uint32_t w = 0; w < kWords; ++w) {
#pragma unroll
        for (std::uint32_t first = 0; first < 16; first += kTogether) {
          const auto visit_one = [&](std::uint32_t i) {
            visit(16 * w + i, min(__funnelshift_r(forward_[w], forward_[w + 1], 2 * i),
                                  __funnelshift_l(backward_[w + 1], backward_[w], 2 * i)) >>
                                  down_);
          };
          if (16 * w + first + kTogether - 1 <= n_) {
#pragma unroll
            for (std::uint32_t i = 0; i < kTogether; ++i) visit_one(first + i);
          } else {
#pragma unroll
            for (std::uint32_t i = 0; i < kTogether - 1; ++i) {
              if (16 * w + first + i <= n_) visit_one(first + i);
            }
          }
        }
      }
    }

   private:
    static constexpr std::uint32_t kWords = sizeof(Kmer) / 4, kTogether = 4;
    std::uint32_t n_, down_;
    std::uint32_t forward_[kWords + 1], backward_[kWords + 1];
  };

  Keys keys_;
  KmerHash<Kmer> hash_;
  bool canonical_;
};

}  // namespace warpmer::gpu
