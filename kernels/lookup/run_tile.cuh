#pragma once
/// A tile of text, cut into runs of k-mers that have the same minimizer.

#include <cstdint>

#include "groups/text_run.h"
#include "index/index_file.h"
#include "kernels/lookup/run_lookup.cuh"
#include "kernels/text/text_tile.cuh"
#include "kernels/warps/warp_scan.cuh"

namespace warpmer::gpu {

struct RunTile : TextTile, StretchTile {
  union {
    MinimizerTile minimizers;
    alignas(16) std::uint32_t answers[kTileStarts];  ///< once it is cut
  };
  std::uint32_t packed_runs[kTileStarts];  ///< in no order
  LeftRuns<kTileStarts> left;              ///< while it is cut, the starts of stretches
  std::uint32_t runs, stretches;

  [[nodiscard]] __device__ groups::TextRun run(std::uint32_t i) const {
    const std::uint32_t packed = packed_runs[i];
    return {packed & (kTileStarts - 1), ((packed >> kKmersAt) & (groups::TextRun::kMostKmers - 1)) + 1,
            packed >> kMinimizerAt};
  }
  /// Returns the shard of a run, as long as the tile has no answers.
  [[nodiscard]] __device__ std::uint32_t shard_of(const groups::TextRun& run,
                                                  const index::IndexParams& params) const {
    // A run whose minimizer stands there several times has it in each of its k-mers.
    std::uint32_t hash = UINT32_MAX;
    if (run.minimizer != groups::TextRun::kSeveral) {
      hash = minimizers.hashes[MinimizerTile::spread(run.start + run.minimizer)];
    } else {
      for (std::uint32_t i = 0; i <= params.k - params.minimizer_length; ++i)
        hash = min(hash, minimizers.hashes[MinimizerTile::spread(run.start + i)]);
    }
    return warpmer::shard_of(hash, params.minimizer_length, params.shard_bits);
  }
  __device__ void set_run(std::uint32_t i, const groups::TextRun& run) {
    packed_runs[i] = run.start | (run.kmers - 1) << kKmersAt | run.minimizer << kMinimizerAt;
  }

 private:
  static constexpr std::uint32_t kKmersAt = 11, kMinimizerAt = 17;
  static_assert(kTileStarts == 1u << kKmersAt &&
                groups::TextRun::kMostKmers == 1u << (kMinimizerAt - kKmersAt));
};

/// The numbers of words of a tile's packed text and of its breaks, and of both with what its last k-mers
/// reach into.
inline constexpr std::uint32_t kTileWords = kTileStarts / 16, kTileBreakWords = kTileStarts / 32;
inline constexpr std::uint32_t kPackedWords = sizeof(TextTile::packed) / sizeof(std::uint32_t);
inline constexpr std::uint32_t kBreakWords = sizeof(TextTile::breaks) / sizeof(std::uint32_t);

/// Save the words of the block's tile where those of all tiles lie; the last tile also saves those that its
/// last k-mers reach into.
__device__ inline void save_packed(const TextTile& tile, std::uint32_t* packed) {
  const std::uint32_t words = blockIdx.x + 1 == gridDim.x ? kPackedWords : kTileWords;
  for (std::uint32_t i = threadIdx.x; i < words; i += kTileThreads)
    packed[blockIdx.x * kTileWords + i] = tile.packed[i];
}
__device__ inline void save_breaks(const TextTile& tile, std::uint32_t* breaks) {
  const std::uint32_t words = blockIdx.x + 1 == gridDim.x ? kBreakWords : kTileBreakWords;
  for (std::uint32_t i = threadIdx.x; i < words; i += kTileThreads)
    breaks[blockIdx.x * kTileBreakWords + i] = tile.breaks[i];
}

/// Cuts a packed tile; all threads of the block together. Returns a mask of the thread's starts that begin a
/// k-mer. Has barriers before and in the end.
__device__ inline std::uint32_t cut_into_runs(RunTile& tile, const index::IndexParams& params) {
  const std::uint32_t flank_bases = params.k - params.minimizer_length;
  const std::uint32_t first = threadIdx.x * kStartsPerThread;
  if (threadIdx.x == 0) tile.runs = tile.stretches = 0;
  __syncthreads();
  hash_mmers(tile, tile.minimizers, params.minimizer_length, params.canonical, kTileStarts + flank_bases);
  __syncthreads();
  std::uint32_t minimizer[kStartsPerThread];
  window_minima(tile.minimizers, first, flank_bases + 1, minimizer);
  const std::uint32_t valid = valid_starts(tile, first, params.k);
  const std::uint32_t begins = stretch_begins(tile, valid, minimizer);
  const std::uint32_t mine = __popc(begins), sum = warp_inclusive_sum(mine);
  std::uint32_t at = 0;
  if (threadIdx.x % 32 == 31) at = atomicAdd(&tile.stretches, sum);
  at = __shfl_sync(~0u, at, 31) + sum - mine;
  for (std::uint32_t rest = begins; rest != 0; rest &= rest - 1, ++at)
    tile.left.numbers[at] = static_cast<std::uint16_t>(first + __ffs(static_cast<int>(rest)) - 1);
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < tile.stretches; i += kTileThreads) {
    std::uint32_t start = tile.left.numbers[i], kmers = stretch_at(tile.ends, start);
    const std::uint32_t place = groups::minimizer_place(kmers, flank_bases, [&](std::uint32_t j) {
      return tile.minimizers.hashes[MinimizerTile::spread(start + j)];
    });
    // More than one only if there are several places.
    const std::uint32_t pieces = (kmers + groups::TextRun::kMostKmers - 1) / groups::TextRun::kMostKmers;
    for (std::uint32_t run = atomicAdd(&tile.runs, pieces); kmers > 0; ++run) {
      const std::uint32_t some = min(kmers, groups::TextRun::kMostKmers);
      tile.set_run(run, {start, some, place});
      start += some;
      kmers -= some;
    }
  }
  __syncthreads();
  return valid;
}

/// Answers for a tile that has been cut: fills `tile.answers`, by start. Where there is no k-mer, or its
/// shard is not there, it is kNoKmerAnswer; `kAreAllThere` says that all shards are. Has barriers.
template <class Key, class Flanks, bool kAreAllThere>
__device__ void answer_tile(RunTile& tile, std::uint32_t valid, const index::IndexParams& params,
                            const ShardsThere& shards) {
  std::uint32_t* const mine = tile.answers + threadIdx.x * kStartsPerThread;
#pragma unroll
  for (std::uint32_t j = 0; j < kStartsPerThread; ++j)
    mine[j] = kAreAllThere && ((valid >> j) & 1) != 0 ? 0 : kNoKmerAnswer;
  __shared__ BlockLengths<Flanks> lengths;
  const RunLookup<Key, Flanks> lookup(params, shards, tile.packed, lengths);
  lookup.template answer<!kAreAllThere>(tile.left, tile.runs, [&](std::uint32_t i) {
    const groups::TextRun run = tile.run(i);
    return AskedRun{run, tile.answers + run.start};
  });
  __syncthreads();
}

}  // namespace warpmer::gpu
