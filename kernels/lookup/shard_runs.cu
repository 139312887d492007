// A text is packed, and cut into runs, which are staged (a block a tile); then runs are put in order of their
// children: counted, summed up, placed.

#include <algorithm>

#include "groups/group_key.h"
#include "kernels/lookup/run_lookup.cuh"
#include "kernels/lookup/run_tile.cuh"
#include "kernels/lookup/shard_runs.cuh"
#include "kernels/memory/persistent_grid.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kOrderThreads = 256;
constexpr std::uint32_t kRunsPerBlock = 4096;  ///< few, large parts: each block goes through all children
constexpr std::uint32_t kAskThreads = 256;
/// Texts that are asked by one launch: what its parameters hold.
constexpr std::uint32_t kTextsAtOnce = 48;

/// A block's counters of runs, one for each child.
__device__ std::uint32_t* child_counters() {
  extern __shared__ std::uint32_t counters[];
  return counters;
}

/// `next` counts the runs of each child. A tile that finds no room for all of its runs is left.
__global__ __launch_bounds__(kTileThreads) void cut_runs_kernel(const char* characters, std::uint32_t bytes,
                                                                index::IndexParams params,
                                                                ShardsByChild shards, CutText text,
                                                                ShardRun* staged, std::uint32_t capacity,
                                                                CutStatus* status) {
  __shared__ RunTile tile;
  __shared__ std::uint32_t first_place;
  std::uint32_t* const counts = child_counters();
  for (std::uint32_t i = threadIdx.x; i < shards.children; i += kTileThreads) counts[i] = 0;
  const std::uint32_t first = blockIdx.x * kTileStarts;
  pack_tile(tile, characters, first, bytes, status);
  cut_into_runs(tile, params);
  save_packed(tile, text.packed);
  save_breaks(tile, text.breaks);
  const std::uint32_t runs = tile.runs;
  if (threadIdx.x == 0) first_place = atomicAdd(&text.counters->staged, runs);
  __syncthreads();
  const std::uint32_t place = first_place;
  if (place > capacity || runs > capacity - place) {
    // The places that were taken stay empty.
    for (std::uint32_t i = threadIdx.x; i < runs && place + i < capacity; i += kTileThreads)
      staged[place + i] = {0, 0, 0, 0};
    if (threadIdx.x == 0) text.left[atomicAdd(&text.counters->left, 1u)] = blockIdx.x;
    return;
  }
  for (std::uint32_t i = threadIdx.x; i < runs; i += kTileThreads) {
    const groups::TextRun run = tile.run(i);
    const std::uint32_t shard = tile.shard_of(run, params);
    staged[place + i] = {first + run.start, static_cast<std::uint16_t>(shard),
                         static_cast<std::uint8_t>(run.kmers), static_cast<std::uint8_t>(run.minimizer)};
    atomicAdd(counts + shards.child_of[shard], 1u);
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < shards.children; i += kTileThreads) {
    if (counts[i] > 0) atomicAdd(text.next + i, counts[i]);
  }
}

/// Makes places of counts: `begins`, and `next` the same. By one warp.
__global__ void sum_up_children_kernel(std::uint32_t children, CutText text) {
  std::uint32_t before = 0;
  for (std::uint32_t child = threadIdx.x; child - threadIdx.x < children; child += 32) {
    const std::uint32_t count = child < children ? text.next[child] : 0;
    const std::uint32_t sum = before + warp_inclusive_sum(count);
    if (child < children) text.begins[child] = text.next[child] = sum - count;
    before = __shfl_sync(~0u, sum, 31);
  }
  if (threadIdx.x == 0) text.begins[children] = before;
}

/// Calls `work(run, child)` for a block's part of the staged runs.
template <class Work>
__device__ void for_each_staged(const ShardRun* staged, std::uint32_t size, const ShardsByChild& shards,
                                Work&& work) {
  const std::uint32_t begin = blockIdx.x * kRunsPerBlock;
  const std::uint32_t end = min(size, begin + kRunsPerBlock);
  for (std::uint32_t i = begin + threadIdx.x; i < end; i += kOrderThreads) {
    const ShardRun run = staged[i];
    if (run.kmers > 0) work(run, shards.child_of[run.shard]);
  }
}

__global__ __launch_bounds__(kOrderThreads) void order_runs_kernel(ShardsByChild shards, CutText text,
                                                                   const ShardRun* staged,
                                                                   std::uint32_t capacity) {
  std::uint32_t* const places = child_counters();
  const std::uint32_t size = min(text.counters->staged, capacity);
  if (blockIdx.x * kRunsPerBlock >= size) return;
  for (std::uint32_t i = threadIdx.x; i < shards.children; i += kOrderThreads) places[i] = 0;
  __syncthreads();
  for_each_staged(staged, size, shards,
                  [&](const ShardRun& /*run*/, std::uint32_t child) { atomicAdd(places + child, 1u); });
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < shards.children; i += kOrderThreads) {
    if (places[i] > 0) places[i] = atomicAdd(text.next + i, places[i]);
  }
  __syncthreads();
  for_each_staged(staged, size, shards, [&](const ShardRun& run, std::uint32_t child) {
    text.runs[atomicAdd(places + child, 1u)] = run;
  });
}

struct AskedTexts {
  CutText texts[kTextsAtOnce];
};

template <class Key, class Flanks>
__global__ __launch_bounds__(kAskThreads) void look_up_runs_kernel(AskedTexts asked, std::uint32_t child,
                                                                   index::IndexParams params,
                                                                   ShardsThere shards) {
  __shared__ LeftRuns<kAskThreads> left;
  __shared__ BlockLengths<Flanks> lengths;
  const CutText& text = asked.texts[blockIdx.y];
  const RunLookup<Key, Flanks> lookup(params, shards, text.packed, lengths);
  const std::uint32_t end = text.begins[child + 1];
  for (std::uint32_t first = text.begins[child] + blockIdx.x * kAskThreads; first < end;
       first += gridDim.x * kAskThreads) {
    lookup.template answer<true>(left, min(end - first, kAskThreads), [&](std::uint32_t i) {
      const groups::TextRun run = text.runs[first + i].run();
      return AskedRun{run, text.answers + run.start};
    });
    __syncthreads();  // before the next runs come
  }
}

/// The tiles that are left: they are cut again for each child.
template <class Key, class Flanks>
__global__ __launch_bounds__(kTileThreads) void look_up_left_kernel(AskedTexts asked,
                                                                    index::IndexParams params,
                                                                    ShardsThere shards) {
  __shared__ RunTile tile;
  const CutText& text = asked.texts[blockIdx.y];
  const std::uint32_t left = text.counters->left;
  for (std::uint32_t i = blockIdx.x; i < left; i += gridDim.x) {
    const std::uint32_t number = text.left[i];
    for (std::uint32_t w = threadIdx.x; w < kPackedWords; w += kTileThreads)
      tile.packed[w] = text.packed[number * kTileWords + w];
    for (std::uint32_t w = threadIdx.x; w < kBreakWords; w += kTileThreads)
      tile.breaks[w] = text.breaks[number * kTileBreakWords + w];
    const std::uint32_t valid = cut_into_runs(tile, params);
    answer_tile<Key, Flanks, false>(tile, valid, params, shards);
    for (std::uint32_t start = threadIdx.x; start < kTileStarts; start += kTileThreads) {
      const std::uint32_t answer = tile.answers[start];
      if (answer != kNoKmerAnswer) text.answers[number * kTileStarts + start] = answer;
    }
    __syncthreads();  // before the next tile comes
  }
}

/// Runs that a tile has room for, on average over its text. Random text has 2 / (w + 1) of them for each
/// start (docs/algorithms.md), w being the m-mers of a k-mer; real text fewer, short reads some more. At k =
/// 13 (w = 4) one tile in twelve of random text has more than its answers' memory takes, and is left.
std::uint32_t runs_of_tile(const index::IndexParams& params) {
  constexpr std::uint32_t kMost = kTileStarts * 3 / 8 - 16;  // three quarters of the tile's answers
  const std::uint32_t window = params.k - params.minimizer_length + 1;
  return std::min(kMost, 2 * kTileStarts * 115 / 100 / (window + 1) + 32);
}

}  // namespace

std::uint64_t TextRuns::bytes_per_tile(const index::IndexParams& params) {
  return runs_of_tile(params) * sizeof(ShardRun) +
         (kTileWords + kTileBreakWords + std::uint64_t{1}) * sizeof(std::uint32_t);
}

std::uint64_t TextRuns::bytes_besides(std::uint32_t children) {
  return sizeof(TextTile) + sizeof(RunCounters) + (2 * std::uint64_t{children} + 2) * sizeof(std::uint32_t);
}

std::uint32_t TextRuns::most_runs(std::uint32_t starts, const index::IndexParams& params) {
  return tiles_of(starts) * runs_of_tile(params);
}

std::uint32_t TextRuns::packed_words(std::uint32_t starts) {
  return tiles_of(starts) * kTileWords + (kPackedWords - kTileWords);
}

TextRuns::TextRuns(std::uint32_t starts, std::uint32_t children, const index::IndexParams& params)
    : room_(runs_of_tile(params)) {
  const std::size_t tiles = tiles_of(starts);
  memory_ = DeviceArray<std::uint64_t>(
      (tiles * bytes_per_tile(params) + bytes_besides(children)) / sizeof(std::uint64_t) + 1);
  text_.runs = reinterpret_cast<ShardRun*>(memory_.data());
  text_.counters = reinterpret_cast<RunCounters*>(text_.runs + tiles * room_);
  text_.packed = reinterpret_cast<std::uint32_t*>(text_.counters + 1);
  text_.breaks = text_.packed + tiles * kTileWords + (kPackedWords - kTileWords);
  text_.left = text_.breaks + tiles * kTileBreakWords + (kBreakWords - kTileBreakWords);
  text_.begins = text_.left + tiles;
  text_.next = text_.begins + children + 1;
}

void TextRuns::cut(const char* text, std::uint32_t bytes, std::uint32_t starts,
                   const index::IndexParams& params, const ShardsByChild& shards, std::uint32_t* answers,
                   CutStatus* status, cudaStream_t stream) {
  const std::uint32_t tiles = tiles_of(starts), capacity = tiles * room_;
  const std::size_t counter_bytes = shards.children * sizeof(std::uint32_t);
  auto* const staged = reinterpret_cast<ShardRun*>(answers);
  text_.answers = answers;
  fill_bytes(text_.counters, 0, 1, stream);
  fill_bytes(text_.next, 0, shards.children, stream);
  cut_runs_kernel<<<tiles, kTileThreads, counter_bytes, DriverLock::Shared(stream)>>>(
      text, bytes, params, shards, text_, staged, capacity, status);
  sum_up_children_kernel<<<1, 32, 0, DriverLock::Shared(stream)>>>(shards.children, text_);
  order_runs_kernel<<<blocks_of(capacity, kRunsPerBlock), kOrderThreads, counter_bytes,
                      DriverLock::Shared(stream)>>>(shards, text_, staged, capacity);
  check_launch("cutting text for lookups");
  fill_bytes(answers, 0xFF, std::size_t{tiles} * kTileStarts, stream);
  static_assert(kNoKmerAnswer == UINT32_MAX);
}

void look_up_runs(const std::vector<CutText>& texts, std::uint32_t kmers_of_text, std::uint32_t child,
                  const index::IndexParams& params, const ShardsThere& shards, cudaStream_t stream) {
  constexpr std::uint32_t kEnoughBlocks = 2048;  // for any device
  constexpr std::uint32_t kKmersOfBlock = 8 * kAskThreads, kLeftBlocks = 256;
  for (std::size_t first = 0; first < texts.size(); first += kTextsAtOnce) {
    const auto some = static_cast<std::uint32_t>(std::min<std::size_t>(kTextsAtOnce, texts.size() - first));
    AskedTexts asked{};
    std::copy_n(texts.begin() + static_cast<std::ptrdiff_t>(first), some, asked.texts);
    const std::uint32_t blocks = std::max(kmers_of_text / kKmersOfBlock + 1, kEnoughBlocks / some);
    groups::with_key_types(params.k, [&]<class Key, class Flanks>() {
      look_up_runs_kernel<Key, Flanks>
          <<<dim3(blocks, some), kAskThreads, 0, DriverLock::Shared(stream)>>>(asked, child, params, shards);
      look_up_left_kernel<Key, Flanks>
          <<<dim3(kLeftBlocks / some + 1, some), kTileThreads, 0, DriverLock::Shared(stream)>>>(asked, params,
                                                                                                shards);
    });
    check_launch("looking k-mers up in a child");
  }
}

}  // namespace warpmer::gpu
