#pragma once
/// Hashes of k-mers to their shards and keys (groups/quick_place.h).

#include <cstdint>

#include "groups/group_key.h"
#include "groups/quick_place.h"
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
    const Kmer other = reverse_complement(kmer, shape.k);
    const Windows windows(other, ~kmer, shape, canonical_);
    groups::SmallestMmer smallest;
    windows.for_each([&](std::uint32_t i, std::uint32_t mmer) { smallest.note(i, mmer); });
    return groups::place_at(kmer, other, smallest, keys_, canonical_);
  }

 private:
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
