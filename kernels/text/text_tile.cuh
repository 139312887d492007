#pragma once
/// A packed tile of text in shared memory, which cutting, dense counting and lookups share. A block of
/// kTileThreads threads has kTileStarts starts of k-mers; each thread has kStartsPerThread consecutive ones.

#include <cstdint>

#include "groups/text_run.h"
#include "kernels/text/cut.cuh"
#include "kernels/text/text_packing.cuh"
#include "kernels/warps/warp_scan.cuh"
#include "kmer/kmer.h"
#include "kmer/minimizer.h"

namespace warpmer::gpu {

inline constexpr std::uint32_t kStartsPerThread = 8;
inline constexpr std::uint32_t kTileThreads = kTileStarts / kStartsPerThread;
/// The number of times 16 characters, with those that the last k-mers reach into.
inline constexpr std::uint32_t kTileSixteens = (kTileStarts + 64) / 16;

struct TextTile {
  std::uint32_t packed[kTileSixteens + 12];     ///< 16 bases a word, the first lowest
  std::uint32_t breaks[kTileSixteens / 2 + 4];  ///< 32 characters a word
};

/// The hashes of the m-mers of a tile.
struct MinimizerTile {
  std::uint32_t hashes[(kTileStarts + 64) / kStartsPerThread * (kStartsPerThread + 1) + 1];

  /// Returns the place of hash i: there is a gap after every eight, so that threads read eight neighbours
  /// each without bank conflicts.
  __device__ static std::uint32_t spread(std::uint32_t i) { return i + i / kStartsPerThread; }
};

/// Returns the sixteen characters from `at` on; separators stand for those behind the end.
__device__ inline uint4 load_sixteen(const char* text, std::uint32_t at, std::uint32_t bytes) {
  if (bytes - at >= 16) return *reinterpret_cast<const uint4*>(text + at);
  std::uint32_t words[4];
#pragma unroll
  for (std::uint32_t w = 0; w < 4; ++w) {
    words[w] = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t from = at + 4 * w + i;
      const auto c = static_cast<unsigned char>(from < bytes ? text[from] : kSeparator);
      words[w] |= std::uint32_t{c} << (8 * i);
    }
  }
  return {words[0], words[1], words[2], words[3]};
}

/// Packs the tile's characters and those that its last k-mers reach into.
__device__ inline void pack_tile(TextTile& tile, const char* text, std::uint32_t first, std::uint32_t bytes,
                                 CutStatus* status) {
  auto* breaks = reinterpret_cast<std::uint16_t*>(tile.breaks);
  for (std::uint32_t sixteen = threadIdx.x; sixteen < kTileSixteens; sixteen += kTileThreads) {
    const std::uint32_t at = first + 16 * sixteen;
    PackedSixteen packed{0, 0xFFFF};
    if (at < bytes) {
      packed = pack_sixteen(load_sixteen(text, at, bytes));
      if (bytes - at < 16) packed.breaks |= (0xFFFFu << (bytes - at)) & 0xFFFFu;
      for (std::uint32_t rest = packed.breaks; rest != 0; rest &= rest - 1) {
        const std::uint32_t offset = at + __ffs(static_cast<int>(rest)) - 1;
        if (offset < bytes && is_invalid(static_cast<unsigned char>(text[offset])))
          atomicMin(&status->first_invalid, offset);
      }
    }
    tile.packed[sixteen] = packed.codes;
    breaks[sixteen] = static_cast<std::uint16_t>(packed.breaks);
  }
  for (std::uint32_t i = kTileSixteens + threadIdx.x; i < kTileSixteens + 12; i += kTileThreads)
    tile.packed[i] = 0;
  if (threadIdx.x < 4) tile.breaks[kTileSixteens / 2 + threadIdx.x] = ~0u;
}

/// Returns the k-mer that begins at a start of packed text, as read or canonical.
template <class Key>
__device__ Key kmer_at(const std::uint32_t* packed, std::uint32_t start, std::uint32_t k, bool canonical) {
  // The text has the first base lowest, which a complement is to have; a k-mer has it highest.
  const Key text = groups::text_bases<Key>(packed, start, k), kmer = groups::reverse_flank(text, k);
  const Key other = ~text & key_mask<Key>(k);
  return canonical && other < kmer ? other : kmer;
}

/// Fills `minimizers` with the hashes of the first `count` m-mers, and some more; `canonical` as in
/// kmer/minimizer.h.
__device__ inline void hash_mmers(const TextTile& tile, MinimizerTile& minimizers, std::uint32_t m,
                                  bool canonical, std::uint32_t count) {
  const std::uint32_t mask = (1u << (2 * m)) - 1;  // m <= 15
  for (std::uint32_t first = kStartsPerThread * threadIdx.x; first < count;
       first += kStartsPerThread * kTileThreads) {
    const std::uint32_t low = tile.packed[first / 16], high = tile.packed[first / 16 + 1];
    std::uint32_t* hashes = minimizers.hashes + MinimizerTile::spread(first);
#pragma unroll
    for (std::uint32_t j = 0; j < kStartsPerThread; ++j) {
      const std::uint32_t mmer = __funnelshift_r(low, high, 2 * (first % 16 + j)) & mask;
      hashes[j] = minimizer_hash(canonical ? canonical_mmer(mmer, m) : mmer);
    }
  }
}

/// Finds the smallest of `window` hashes from each of the thread's starts on.
__device__ inline void window_minima(const MinimizerTile& minimizers, std::uint32_t first,
                                     std::uint32_t window, std::uint32_t (&out)[kStartsPerThread]) {
  const auto hash = [&](std::uint32_t i) { return minimizers.hashes[MinimizerTile::spread(first + i)]; };
  if (window < kStartsPerThread) {
#pragma unroll
    for (std::uint32_t j = 0; j < kStartsPerThread; ++j) {
      out[j] = hash(j);
      for (std::uint32_t i = 1; i < window; ++i) out[j] = min(out[j], hash(j + i));
    }
    return;
  }
  // All windows share a core; each has a suffix of what lies before it and a prefix of what lies behind.
  std::uint32_t core = hash(kStartsPerThread - 1);
  for (std::uint32_t i = kStartsPerThread; i < window; ++i) core = min(core, hash(i));
  std::uint32_t suffix = core;
  out[kStartsPerThread - 1] = core;
#pragma unroll
  for (int j = kStartsPerThread - 2; j >= 0; --j) out[j] = suffix = min(suffix, hash(j));
  std::uint32_t prefix = UINT32_MAX;
#pragma unroll
  for (std::uint32_t j = 1; j < kStartsPerThread; ++j) {
    prefix = min(prefix, hash(window + j - 1));
    out[j] = min(out[j], prefix);
  }
}

/// Returns a mask of the thread's starts that begin a k-mer without breaks.
__device__ inline std::uint32_t valid_starts(const TextTile& tile, std::uint32_t first, std::uint32_t k) {
  const std::uint32_t word = first / 32, shift = first % 32;
  const auto part = [&](std::uint32_t i) {
    return std::uint64_t{__funnelshift_r(tile.breaks[word + i], tile.breaks[word + i + 1], shift)};
  };
  const std::uint64_t low = part(0) | part(1) << 32, high = part(2);
  const std::uint64_t mask = k == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << k) - 1;
  std::uint32_t valid = 0;
#pragma unroll
  for (std::uint32_t j = 0; j < kStartsPerThread; ++j) {
    const std::uint64_t breaks = (low >> j) | (j == 0 ? 0 : high << (64 - j));
    valid |= ((breaks & mask) == 0 ? 1u : 0u) << j;
  }
  return valid;
}

/// Returns the number of k-mers from `start` to the end of its stretch. `ends` has a bit for each start of
/// the tile at which no stretch goes on, and one behind.
__device__ inline std::uint32_t stretch_at(const std::uint32_t (&ends)[kTileStarts / 32 + 1],
                                           std::uint32_t start) {
  const std::uint32_t at = start + 1;
  std::uint32_t word = at / 32;
  std::uint32_t bits = ends[word] & (~0u << (at % 32));
  while (bits == 0) bits = ends[++word];
  return 32 * word + __ffs(static_cast<int>(bits)) - 1 - start;
}

/// The part of a tile by which its threads find stretches of starts.
struct StretchTile {
  std::uint32_t ends[kTileStarts / 32 + 1];  ///< starts at which no stretch goes on
  std::uint32_t last[kTileThreads / 32];     ///< minimizer of each warp's last start
  std::uint8_t last_is_valid[kTileThreads / 32];
};

/// Finds where stretches of starts begin that are `valid` and have the same minimizer: returns a mask of the
/// thread's starts, and fills `tile.ends`, which others may read after a barrier.
__device__ inline std::uint32_t stretch_begins(StretchTile& tile, std::uint32_t valid,
                                               const std::uint32_t (&minimizer)[kStartsPerThread]) {
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  // The start before the thread's first: its minimizer, or one that cannot be when it is not valid.
  // (UINT32_MAX is a hash like others; that it may join what it should not is prevented by `joins`.)
  const bool last_valid = (valid >> (kStartsPerThread - 1)) != 0;
  std::uint32_t before = __shfl_up_sync(~0u, minimizer[kStartsPerThread - 1], 1);
  bool joins = __shfl_up_sync(~0u, last_valid ? 1 : 0, 1) != 0;
  if (lane == 31) {
    tile.last[warp] = minimizer[kStartsPerThread - 1];
    tile.last_is_valid[warp] = last_valid ? 1 : 0;
  }
  __syncthreads();
  if (lane == 0) {
    joins = warp > 0 && tile.last_is_valid[warp - 1] != 0;
    before = warp > 0 ? tile.last[warp - 1] : 0;
  }
  std::uint32_t begins = 0;
#pragma unroll
  for (std::uint32_t j = 0; j < kStartsPerThread; ++j) {
    const bool here = (valid >> j) & 1;
    if (here && !(joins && minimizer[j] == before)) begins |= 1u << j;
    joins = here;
    before = minimizer[j];
  }
  static_assert(kStartsPerThread == 8, "the ends of a thread are a byte");
  reinterpret_cast<std::uint8_t*>(tile.ends)[threadIdx.x] = static_cast<std::uint8_t>(begins | ~valid);
  if (threadIdx.x == 0) tile.ends[kTileStarts / 32] = ~0u;
  return begins;
}

}  // namespace warpmer::gpu
