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
    const std::uint32_t n = shape.flank_bases(), down = 32 - 2 * shape.m, mask = ~0u >> down;
    const Kmer other = reverse_complement(kmer, shape.k);
    // M-mers of this strand, the first base least significant, are at the low end, and those of the other one
    // at the high end.
    Kmer forward = ~other, backward = ~kmer << (kKeyBits<Kmer> - 2 * shape.k);
    std::uint32_t smallest = UINT32_MAX, at = 0, last = 0;
#pragma unroll 4
    for (std::uint32_t i = 0; i <= n; ++i, forward >>= 2, backward <<= 2) {
      const std::uint32_t mmer = static_cast<std::uint32_t>(forward) & mask;
      const std::uint32_t reversed = static_cast<std::uint32_t>(backward >> (kKeyBits<Kmer> - 32)) >> down;
      const std::uint32_t hashed = minimizer_hash(canonical_ ? min(mmer, reversed) : mmer);
      at = hashed < smallest ? i : at;
      last = hashed <= smallest ? i : last;
      smallest = min(smallest, hashed);
    }
    // Where the minimizer stands twice only the definition says which place counts; that is rare. Of k-mers
    // as read it is the first one.
    if (canonical_ && at != last) return keys_.place(kmer, true);
    const std::uint32_t mmer = groups::mmer_at(kmer, at, shape);
    const std::uint32_t reversed = other_strand(mmer, shape.m);
    const bool is_forward = !canonical_ || mmer < reversed;
    const std::uint32_t layer = is_forward ? at : n - at;
    const Key flanks = groups::flanks_of<Key>(is_forward ? kmer : other, layer, shape);
    const std::uint32_t id = GroupHash(shape.m)(is_forward ? mmer : reversed);
    return {shape.shard_of(id), keys_.pack(shape.rest_of(id), layer, flanks)};
  }

 private:
  Keys keys_;
  KmerHash<Kmer> hash_;
  bool canonical_;
};

}  // namespace warpmer::gpu
