// A block cuts a tile, and finds room for its runs in each part, and for their answers, with one addition to
// the part's sizes.

#include <algorithm>

#include "groups/group_key.h"
#include "kernels/lookup/routed_runs.cuh"
#include "kernels/lookup/run_lookup.cuh"
#include "kernels/lookup/run_tile.cuh"
#include "kernels/lookup/shard_runs.cuh"
#include "kernels/warps/warp_scan.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kMostBlocks = 1024;  ///< blocks for an owner

static_assert(groups::TextRun::kMostKmers <= 1u << RoutedRun::kKmersBits);
static_assert(groups::TextRun::kSeveral < 1u << (64 - 2 * RoutedRun::kStartBits - RoutedRun::kKmersBits));

/// Blocks for so many runs, a thread each.
std::uint32_t run_blocks(std::uint64_t runs) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(runs / kThreads + 1, kMostBlocks));
}

/// A place of a run, or a size, in what a tile has for one owner, as fields of a word.
struct TilePlace {
  static constexpr std::uint32_t kBits = 12, kMask = (1u << kBits) - 1;
  static_assert(kTileStarts < 1u << kBits && kMostOwners <= 1u << (32 - 2 * kBits));

  std::uint32_t word;

  __device__ static std::uint32_t of(std::uint32_t runs, std::uint32_t kmers) {
    return runs << kBits | kmers;
  }
  [[nodiscard]] __device__ std::uint32_t kmers() const { return word & kMask; }
  [[nodiscard]] __device__ std::uint32_t runs() const { return (word >> kBits) & kMask; }
  [[nodiscard]] __device__ std::uint32_t owner() const { return word >> (2 * kBits); }
};

/// Fills `places`, one for each of the tile's runs, and adds up `sums`, by owner, which are 0 before.
__device__ void place_runs(const RunTile& tile, const index::IndexParams& params,
                           const std::uint16_t* owner_of, std::uint32_t owners, std::uint32_t* places,
                           std::uint32_t* sums) {
  const std::uint32_t lane = threadIdx.x % 32;
  for (std::uint32_t first = threadIdx.x - lane; first < tile.runs; first += kTileThreads) {
    const std::uint32_t i = first + lane;
    groups::TextRun run{};
    std::uint32_t owner = owners, place = 0;
    if (i < tile.runs) {
      run = tile.run(i);
      owner = owner_of[tile.shard_of(run, params)];
    }
    for (std::uint32_t one = 0; one < owners; ++one) {
      const std::uint32_t mine = owner == one ? TilePlace::of(1, run.kmers) : 0;
      const std::uint32_t sum = warp_inclusive_sum(mine);
      std::uint32_t before = 0;
      if (lane == 31 && sum > 0) before = atomicAdd(sums + one, sum);
      before = __shfl_sync(~0u, before, 31);
      if (owner == one) place = before + sum - mine;
    }
    if (i < tile.runs) places[i] = owner << (2 * TilePlace::kBits) | place;
  }
}

/// A tile some of whose runs find no room is left.
__global__ __launch_bounds__(kTileThreads) void cut_parts_kernel(const char* characters, std::uint32_t bytes,
                                                                 index::IndexParams params,
                                                                 const std::uint16_t* owner_of,
                                                                 TextParts parts, CutStatus* status) {
  __shared__ RunTile tile;
  __shared__ std::uint32_t places[kTileStarts];
  __shared__ std::uint32_t sums[kMostOwners];
  __shared__ PartSize firsts[kMostOwners];
  for (std::uint32_t i = threadIdx.x; i < parts.owners; i += kTileThreads) sums[i] = 0;
  const std::uint32_t first = blockIdx.x * kTileStarts;
  pack_tile(tile, characters, first, bytes, status);
  cut_into_runs(tile, params);
  for (std::uint32_t owner = 0; owner < parts.owners; ++owner)
    save_packed(tile, reinterpret_cast<std::uint32_t*>(parts.part(owner)));
  save_breaks(tile, parts.breaks);
  place_runs(tile, params, owner_of, parts.owners, places, sums);
  __syncthreads();
  for (std::uint32_t owner = threadIdx.x; owner < parts.owners; owner += kTileThreads) {
    const TilePlace sum{sums[owner]};
    const auto before = atomicAdd(reinterpret_cast<unsigned long long*>(parts.sizes + owner),
                                  static_cast<unsigned long long>(sum.runs()) << 32 | sum.kmers());
    firsts[owner] = {static_cast<std::uint32_t>(before), static_cast<std::uint32_t>(before >> 32)};
  }
  __syncthreads();
  bool is_left = false;
  for (std::uint32_t i = threadIdx.x; i < tile.runs; i += kTileThreads) {
    const TilePlace place{places[i]};
    const PartSize before = firsts[place.owner()];
    groups::TextRun run = tile.run(i);
    run.start += first;
    const std::uint32_t at = before.runs + place.runs();
    if (at < parts.most_runs()) {
      parts.runs(place.owner())[at] = RoutedRun::packed(run, before.kmers + place.kmers());
    } else {
      is_left = true;
    }
  }
  is_left = __syncthreads_or(is_left ? 1 : 0) != 0;
  if (is_left && threadIdx.x == 0) parts.left[atomicAdd(parts.left_size, 1u)] = blockIdx.x;
}

__global__ __launch_bounds__(kTileThreads) void give_up_left_kernel(TextParts parts, std::uint32_t k) {
  __shared__ TextTile tile;
  const std::uint32_t left = *parts.left_size, first = threadIdx.x * kStartsPerThread;
  for (std::uint32_t i = blockIdx.x; i < left; i += gridDim.x) {
    const std::uint32_t number = parts.left[i];
    for (std::uint32_t w = threadIdx.x; w < kBreakWords; w += kTileThreads)
      tile.breaks[w] = parts.breaks[number * kTileBreakWords + w];
    __syncthreads();
    std::uint32_t valid = valid_starts(tile, first, k);
    for (; valid != 0; valid &= valid - 1) {
      const std::uint32_t start = first + __ffs(static_cast<int>(valid)) - 1;
      parts.answers[std::size_t{number} * kTileStarts + start] = kLargeCountAnswer;
    }
    __syncthreads();  // before the next tile comes
  }
}

template <class Key, class Flanks>
__global__ __launch_bounds__(kThreads) void answer_part_kernel(RoutedPart part, index::IndexParams params,
                                                               ShardsThere shards, std::uint32_t* answers) {
  __shared__ LeftRuns<kThreads> left;
  __shared__ BlockLengths<Flanks> lengths;
  const RunLookup<Key, Flanks> lookup(params, shards, reinterpret_cast<const std::uint32_t*>(part.elements),
                                      lengths);
  for (std::uint32_t first = blockIdx.x * kThreads; first < part.runs; first += gridDim.x * kThreads) {
    lookup.template answer<true>(left, min(part.runs - first, kThreads), [&](std::uint32_t i) {
      const RoutedRun routed = RoutedRun::unpacked(part.elements[part.base_elements + first + i]);
      return AskedRun{routed.run, answers + routed.place};
    });
    __syncthreads();  // before the next runs come
  }
}

/// A row of blocks for each owner; a warp takes 32 runs at a time.
__global__ __launch_bounds__(kThreads) void restore_kernel(TextParts parts, const std::uint32_t* returned) {
  const std::uint32_t owner = blockIdx.y, lane = threadIdx.x % 32;
  const std::uint32_t runs = min(parts.sizes[owner].runs, parts.most_runs());
  const std::uint64_t* const part = parts.runs(owner);
  for (std::uint32_t before = 0; before < owner; ++before) returned += parts.sizes[before].kmers;
  for (std::uint32_t first = blockIdx.x * kThreads + threadIdx.x - lane; first < runs;
       first += gridDim.x * kThreads) {
    RoutedRun routed{};
    if (first + lane < runs) routed = RoutedRun::unpacked(part[first + lane]);
    for_each_routed(routed, [&](std::uint32_t start, std::uint32_t place, bool is_there) {
      if (is_there) parts.answers[start] = returned[place];
    });
  }
}

std::size_t break_words(std::uint32_t starts) {
  return std::size_t{tiles_of(starts)} * kTileBreakWords + (kBreakWords - kTileBreakWords);
}

}  // namespace

std::uint32_t routed_base_elements(std::uint32_t starts) { return (TextRuns::packed_words(starts) + 1) / 2; }

std::uint32_t RoutedText::part_elements(std::uint32_t starts, std::uint32_t most_runs) {
  return routed_base_elements(starts) + most_runs;
}

std::uint64_t RoutedText::bytes(std::uint32_t starts, std::uint32_t owners, std::uint32_t most_runs) {
  return (std::uint64_t{owners} * part_elements(starts, most_runs) + owners) * sizeof(std::uint64_t) +
         (break_words(starts) + tiles_of(starts) + 1) * sizeof(std::uint32_t);
}

RoutedText::RoutedText(std::uint32_t starts, std::uint32_t owners, std::uint32_t most_runs)
    : elements_(std::size_t{owners} * part_elements(starts, most_runs)),
      sizes_(owners),
      words_(break_words(starts) + tiles_of(starts) + 1) {
  static_assert(sizeof(PartSize) == sizeof(std::uint64_t));
  parts_.elements = elements_.data();
  parts_.sizes = reinterpret_cast<PartSize*>(sizes_.data());
  parts_.owners = owners;
  parts_.room_elements = part_elements(starts, most_runs);
  parts_.breaks = words_.data();
  parts_.left = parts_.breaks + break_words(starts);
  parts_.left_size = parts_.left + tiles_of(starts);
}

void RoutedText::cut(const char* text, std::uint32_t bytes, std::uint32_t starts,
                     const index::IndexParams& params, const std::uint16_t* owner_of, std::uint32_t* answers,
                     CutStatus* status, cudaStream_t stream) {
  constexpr std::uint32_t kBlocks = 64;
  const std::uint32_t tiles = tiles_of(starts);
  parts_.base_elements = routed_base_elements(starts);
  parts_.answers = answers;
  fill_bytes(parts_.sizes, 0, parts_.owners, stream);
  fill_bytes(parts_.left_size, 0, 1, stream);
  cut_parts_kernel<<<tiles, kTileThreads, 0, DriverLock::Shared(stream)>>>(text, bytes, params, owner_of,
                                                                           parts_, status);
  check_launch("cutting text for other GPUs");
  fill_bytes(answers, 0xFF, std::size_t{tiles} * kTileStarts, stream);
  static_assert(kNoKmerAnswer == UINT32_MAX);
  if (parts_.most_runs() >= starts) return;  // there is room for all
  give_up_left_kernel<<<kBlocks, kTileThreads, 0, DriverLock::Shared(stream)>>>(parts_, params.k);
  check_launch("leaving k-mers to the host");
}

void RoutedText::restore_answers(std::uint32_t most_runs, const std::uint32_t* returned,
                                 cudaStream_t stream) const {
  restore_kernel<<<dim3(run_blocks(most_runs), parts_.owners), kThreads, 0, DriverLock::Shared(stream)>>>(
      parts_, returned);
  check_launch("putting answers in order");
}

void answer_part(const RoutedPart& part, const index::IndexParams& params, const ShardsThere& shards,
                 std::uint32_t* answers, cudaStream_t stream) {
  if (part.runs == 0) return;
  groups::with_key_types(params.k, [&]<class Key, class Flanks>() {
    answer_part_kernel<Key, Flanks>
        <<<run_blocks(part.runs), kThreads, 0, DriverLock::Shared(stream)>>>(part, params, shards, answers);
  });
  check_launch("looking up k-mers for other GPUs");
}

}  // namespace warpmer::gpu
