#pragma once
/// A tile of text in shared memory whose k-mers a block looks at one by one, in any order.

#include <cstdint>

#include "kernels/text/text_tile.cuh"

namespace warpmer::gpu {

class KmerTile {
 public:
  /// Packs the tile that begins at the start `first`. All threads of a block of kTileThreads call it
  /// together, once.
  __device__ void pack(const char* text, std::uint32_t first, std::uint32_t bytes, std::uint32_t k,
                       CutStatus* status) {
    static_assert(kStartsPerThread == 8);
    pack_tile(tile_, text, first, bytes, status);
    __syncthreads();
    valid_[threadIdx.x] = static_cast<std::uint8_t>(valid_starts(tile_, threadIdx.x * kStartsPerThread, k));
    __syncthreads();
  }

  /// Returns whether a k-mer begins at a start of the tile.
  [[nodiscard]] __device__ bool has_kmer(std::uint32_t start) const {
    return ((valid_[start / 8] >> (start % 8)) & 1) != 0;
  }
  template <class Key>
  [[nodiscard]] __device__ Key kmer(std::uint32_t start, std::uint32_t k, bool canonical) const {
    return kmer_at<Key>(tile_.packed, start, k, canonical);
  }

 private:
  TextTile tile_;
  std::uint8_t valid_[kTileThreads];  ///< a bit for each of eight starts
};

}  // namespace warpmer::gpu
