#pragma once
/// The tile for slots in blocks (table/slot_blocks.h): `Lanes` lanes read a whole block at once, keys and
/// counts, so that a count is there when its key is found.

#include "kernels/warps/tile_cuda.cuh"
#include "table/slot_blocks.h"

namespace warpmer::gpu {

/// A tile that takes all bytes of a block for keys.
template <class Key, int Lanes>
using WholeBlockTile = CudaTile<Key, Lanes, static_cast<int>(table::kSlotBlockBytes / sizeof(Key)) / Lanes>;

template <class KeyType, int Lanes>
struct CudaBlockTile : WholeBlockTile<KeyType, Lanes> {
  using Key = KeyType;
  using Base = WholeBlockTile<Key, Lanes>;
  using typename Base::Bucket;
  static constexpr int kWidth = table::CountBlock<Key>::kSlots;

  using Base::Base, Base::count;

  // What is behind the keys is no key.
  __device__ SlotMask match(const Bucket& b, Key key) const { return Base::match(b, key) & kAllSlots; }
  __device__ SlotMask match(const Bucket& b, Key key, Key bits) const {
    return Base::match(b, key, bits) & kAllSlots;
  }
  __device__ SlotMask empty(const Bucket& b) const { return match(b, table::kEmptyKey<Key>); }

  /// Returns the count that was there when the bucket was loaded.
  __device__ std::uint32_t count(const Bucket& b, Slots<Key> /*s*/, int i) const {
    constexpr unsigned kWordsInKey = sizeof(Key) / sizeof(std::uint32_t);
    constexpr unsigned kWordsOfLane = sizeof(Bucket) / sizeof(std::uint32_t);
    const unsigned word = kWidth * kWordsInKey + static_cast<unsigned>(i);  // of the block
    std::uint32_t mine = 0;  // no array of words: that would be in local memory
#pragma unroll
    for (unsigned j = 0; j < kWordsOfLane; ++j) {
      const auto there = static_cast<std::uint32_t>(b.keys[j / kWordsInKey] >> (j % kWordsInKey * 32));
      mine = word % kWordsOfLane == j ? there : mine;
    }
    return this->from_lane(mine, static_cast<int>(word / kWordsOfLane));
  }

 private:
  static constexpr SlotMask kAllSlots = (SlotMask{1} << kWidth) - 1;
};

}  // namespace warpmer::gpu
