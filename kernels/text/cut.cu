// Text to super-k-mers in one pass: a block packs a tile of text into shared memory, every thread finds
// the minimizers of eight consecutive starts, and then the threads share out the super-k-mers evenly, so
// that writing them, which is most of the work, keeps all lanes busy.

#include "kernels/memory/device_memory.cuh"
#include "kernels/text/cut.cuh"
#include "kernels/text/text_tile.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kWarps = kTileThreads / 32;

struct CutTile : TextTile, MinimizerTile, StretchTile {
  std::uint32_t minimizers[kTileStarts];  ///< minimizers of the super-k-mers, in order; then their bins
  std::uint16_t starts[kTileStarts];
  std::uint16_t lengths[kTileStarts];  ///< in k-mers
  std::uint16_t ranks[kTileStarts];    ///< ranks of their first words among the tile's words of the region
  std::uint32_t warp_sums[kWarps];
  std::uint32_t region_words[kRegions], region_begins[kRegions];
  std::uint32_t kmers;
  bool full;
};

/// Finds where super-k-mers begin: `tile.starts` and `tile.minimizers`. Returns their number.
__device__ std::uint32_t find_super_kmers(CutTile& tile, const DeviceCutParams& params) {
  const std::uint32_t first = threadIdx.x * kStartsPerThread;
  std::uint32_t minimizer[kStartsPerThread];
  window_minima(tile, first, params.k - params.m + 1, minimizer);
  const std::uint32_t valid = valid_starts(tile, first, params.k);
  const std::uint32_t begins = stretch_begins(tile, valid, minimizer);
  std::uint32_t total = 0;
  std::uint32_t at = block_sum_before(tile.warp_sums, __popc(begins), total);
  for (std::uint32_t rest = begins; rest != 0; rest &= rest - 1, ++at) {
    const int j = __ffs(static_cast<int>(rest)) - 1;
    tile.starts[at] = static_cast<std::uint16_t>(first + j);
#pragma unroll
    for (std::uint32_t i = 0; i < kStartsPerThread; ++i) {
      if (i == j) tile.minimizers[at] = minimizer[i];
    }
  }
  atomicAdd(&tile.kmers, __popc(valid));
  __syncthreads();
  return total;
}

template <int Words>
__device__ SuperKmer<Words> word_at(const CutTile& tile, std::uint32_t start, std::uint32_t kmers,
                                    std::uint32_t k) {
  SuperKmer<Words> word;
  const std::uint32_t bits = 2 * (kmers + k - 1);
#pragma unroll
  for (std::uint32_t i = 0; i < Words; ++i) {
    const std::uint64_t value = groups::sixteen_bases(tile.packed, start + 32 * i) |
                                std::uint64_t{groups::sixteen_bases(tile.packed, start + 32 * i + 16)} << 32;
    const int here = static_cast<int>(bits) - 64 * static_cast<int>(i);
    const std::uint64_t mask = here >= 64  ? ~std::uint64_t{0}
                               : here <= 0 ? 0
                                           : (std::uint64_t{1} << here) - 1;
    word.word[i] = value & mask;
  }
  word.word[Words - 1] |= std::uint64_t{kmers - 1} << 58;
  return word;
}

/// Takes room for all words of the tile, or none: then the tile's turn comes again. By one warp, a lane for
/// each region.
template <int Words>
__device__ void take_room(CutTile& tile, const Staging<Words>& staging, std::uint32_t number,
                          std::uint32_t* left, CutStatus* status) {
  static_assert(kRegions == 32);
  const std::uint32_t words = tile.region_words[threadIdx.x];
  const auto fits = [&](std::uint32_t begin) {
    return words == 0 || (begin <= staging.region_capacity && words <= staging.region_capacity - begin);
  };
  // A region that is full already must not make all others full of empty places.
  const std::uint32_t seen = *static_cast<volatile const std::uint32_t*>(staging.sizes + threadIdx.x);
  bool all_fit = __all_sync(~0u, fits(seen)) != 0;
  if (all_fit) {
    std::uint32_t begin = 0;
    if (words > 0) begin = atomicAdd(staging.sizes + threadIdx.x, words);
    tile.region_begins[threadIdx.x] = begin;
    all_fit = __all_sync(~0u, fits(begin)) != 0;
  } else {
    tile.region_words[threadIdx.x] = 0;  // nothing was taken
  }
  if (threadIdx.x != 0) return;
  tile.full = !all_fit;
  if (tile.full) {
    left[atomicAdd(&status->tiles_left, 1u)] = number;
  } else {
    atomicAdd(&status->kmers, static_cast<unsigned long long>(tile.kmers));
  }
}

/// Marks the places that were taken in regions with room as unused. (Other blocks may be taking places at the
/// same time, so that these cannot be given back.)
template <int Words>
__device__ void leave_empty(const CutTile& tile, const Staging<Words>& staging) {
  for (std::uint32_t region = threadIdx.x / 32; region < kRegions; region += kWarps) {
    const std::uint32_t begin = tile.region_begins[region];
    for (std::uint32_t i = threadIdx.x % 32; i < tile.region_words[region]; i += 32) {
      if (begin + i < staging.region_capacity)
        staging.places[region * staging.region_capacity + begin + i] = {kNoBin, 0};
    }
  }
}

template <int Words>
__device__ void stage(const Staging<Words>& staging, std::uint32_t at, const SuperKmer<Words>& word,
                      std::uint32_t bin) {
  const unsigned long long seen =
      atomicAdd(staging.bins + bin, 1ull | static_cast<unsigned long long>(word.kmers()) << 32);
  const auto* from = reinterpret_cast<const uint4*>(&word);
  auto* to = reinterpret_cast<uint4*>(staging.words + at);
#pragma unroll
  for (int i = 0; i < Words / 2; ++i) __stcs(to + i, from[i]);
  __stcs(reinterpret_cast<uint2*>(staging.places) + at, make_uint2(bin, static_cast<std::uint32_t>(seen)));
}

template <int Words>
__global__ __launch_bounds__(kTileThreads) void cut_kernel(const char* text, std::uint32_t bytes,
                                                           DeviceCutParams params, Staging<Words> staging,
                                                           const std::uint32_t* tiles, std::uint32_t* left,
                                                           CutStatus* status) {
  __shared__ CutTile tile;
  const std::uint32_t number = tiles == nullptr ? blockIdx.x : tiles[blockIdx.x];
  if (threadIdx.x == 0) tile.kmers = 0;
  if (threadIdx.x < kRegions) tile.region_words[threadIdx.x] = 0;
  pack_tile(tile, text, number * kTileStarts, bytes, status);
  __syncthreads();
  hash_mmers(tile, tile, params.m, params.canonical, kTileStarts + params.k - params.m);
  __syncthreads();
  const std::uint32_t supers = find_super_kmers(tile, params);

  const std::uint32_t most = max_kmers_per_word<Words>(params.k);
  const std::uint32_t region_shift = params.bin_bits - kRegionBits;
  for (std::uint32_t i = threadIdx.x; i < supers; i += kTileThreads) {
    const std::uint32_t length = stretch_at(tile.ends, tile.starts[i]);
    const std::uint32_t bin = shard_of(tile.minimizers[i], params.m, params.bin_bits);
    tile.lengths[i] = static_cast<std::uint16_t>(length);
    tile.minimizers[i] = bin;
    tile.ranks[i] = static_cast<std::uint16_t>(
        atomicAdd(&tile.region_words[bin >> region_shift], (length + most - 1) / most));
  }
  __syncthreads();
  if (threadIdx.x < 32) take_room(tile, staging, number, left, status);
  __syncthreads();
  if (tile.full) {
    leave_empty(tile, staging);
    return;
  }
  for (std::uint32_t i = threadIdx.x; i < supers; i += kTileThreads) {
    std::uint32_t start = tile.starts[i];
    const std::uint32_t bin = tile.minimizers[i], region = bin >> region_shift;
    std::uint32_t at = region * staging.region_capacity + tile.region_begins[region] + tile.ranks[i];
    for (std::uint32_t rest = tile.lengths[i]; rest > 0; ++at) {
      const std::uint32_t kmers = min(rest, most);
      stage(staging, at, word_at<Words>(tile, start, kmers, params.k), bin);
      start += kmers;
      rest -= kmers;
    }
  }
}

__global__ void note_fullest_kernel(const std::uint32_t* sizes, std::uint32_t capacity, CutStatus* status) {
  const std::uint32_t fullest = __reduce_max_sync(~0u, min(sizes[threadIdx.x], capacity));
  if (threadIdx.x == 0) status->fullest = fullest;
}

__global__ void reset_status_kernel(CutStatus* status) { *status = {0, UINT32_MAX, 0, 0}; }

}  // namespace

template <int Words>
void launch_cut(const char* text, std::uint32_t bytes, const DeviceCutParams& params,
                const Staging<Words>& staging, const std::uint32_t* tiles, std::uint32_t tile_count,
                std::uint32_t* left, CutStatus* status, cudaStream_t stream) {
  if (tile_count > 0) {
    cut_kernel<Words><<<tile_count, kTileThreads, 0, DriverLock::Shared(stream)>>>(
        text, bytes, params, staging, tiles, left, status);
    check_launch("cutting reads");
  }
  note_fullest_kernel<<<1, kRegions, 0, DriverLock::Shared(stream)>>>(staging.sizes, staging.region_capacity,
                                                                      status);
  check_launch("cutting reads");
}

void reset_status(CutStatus* status, cudaStream_t stream) {
  reset_status_kernel<<<1, 1, 0, DriverLock::Shared(stream)>>>(status);
  check_launch("preparing to cut reads");
}

template void launch_cut<2>(const char*, std::uint32_t, const DeviceCutParams&, const Staging<2>&,
                            const std::uint32_t*, std::uint32_t, std::uint32_t*, CutStatus*, cudaStream_t);
template void launch_cut<4>(const char*, std::uint32_t, const DeviceCutParams&, const Staging<4>&,
                            const std::uint32_t*, std::uint32_t, std::uint32_t*, CutStatus*, cudaStream_t);

}  // namespace warpmer::gpu
