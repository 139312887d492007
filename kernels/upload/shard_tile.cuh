#pragma once
/// A tile of text whose k-mers are looked up: it has their shards, and answers from those that are there.

#include <cstdint>

#include "kernels/text/text_tile.cuh"
#include "kernels/upload/device_index.cuh"
#include "kmer/hash.h"
#include "kmer/minimizer.h"

namespace warpmer::gpu {

struct ShardTile : TextTile, MinimizerTile {
  static_assert(kStartsPerThread == 8, "the valid starts of a thread are a byte");
  std::uint16_t shards[kTileStarts];  ///< by start
  std::uint8_t valid[kTileThreads];   ///< a bit for each of eight starts: set if there is no break
};

/// Fills `tile.valid` and `tile.shards`; each thread fills those of its own starts.
__device__ inline void find_shards(ShardTile& tile, const index::IndexParams& params) {
  const std::uint32_t first = threadIdx.x * kStartsPerThread;
  tile.valid[threadIdx.x] = static_cast<std::uint8_t>(valid_starts(tile, first, params.k));
  std::uint32_t minimizer[kStartsPerThread] = {};
  if (params.shard_bits > 0) {  // the same for all threads
    hash_mmers(tile, tile, params.minimizer_length, params.canonical,
               kTileStarts + params.k - params.minimizer_length);
    __syncthreads();
    window_minima(tile, first, params.k - params.minimizer_length + 1, minimizer);
  }
#pragma unroll
  for (std::uint32_t j = 0; j < kStartsPerThread; ++j)
    tile.shards[first + j] =
        static_cast<std::uint16_t>(shard_of(minimizer[j], params.minimizer_length, params.shard_bits));
}

/// Returns the answer for a k-mer, given by its hash, of a shard that is there.
template <class Key>
__device__ std::uint32_t answer_of(const index::ShardReader<Key>& shard, Key hash) {
  const std::uint64_t count = shard.find(hash);
  return count < kLargeCountAnswer ? static_cast<std::uint32_t>(count) : kLargeCountAnswer;
}

/// Answers for a tile that begins at `first`, and whose shards have been found. Neighbouring lanes take
/// neighbouring starts, most of which share a shard. Answers of k-mers whose shards are not there stay
/// unchanged.
template <class Key>
__device__ void answer_tile(const ShardTile& tile, std::uint32_t first, const index::IndexParams& params,
                            const ShardsThere<Key>& shards, std::uint32_t* answers) {
  const KmerHash<Key> hash(params.k);
#pragma unroll 1
  for (std::uint32_t start = threadIdx.x; start < kTileStarts; start += kTileThreads) {
    std::uint32_t answer = kNoKmerAnswer;
    if (((tile.valid[start / 8] >> (start % 8)) & 1) != 0) {
      const std::uint32_t shard = tile.shards[start] - shards.first;
      if (shard >= shards.count) continue;  // it is not there, and below 0 has wrapped
      answer = answer_of(shards.readers[shard],
                         hash(kmer_at<Key>(tile.packed, start, params.k, params.canonical)));
    }
    answers[first + start] = answer;
  }
}

}  // namespace warpmer::gpu
