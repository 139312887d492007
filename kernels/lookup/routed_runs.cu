// A warp takes 32 runs of a part at a time: it finds room for their answers with one addition to the part's
// number of k-mers, and later shares these k-mers out evenly among its lanes, to put answers in order.

#include <algorithm>

#include "groups/group_key.h"
#include "kernels/lookup/routed_runs.cuh"
#include "kernels/lookup/run_lookup.cuh"
#include "kernels/warps/warp_scan.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kMostBlocks = 1024;  ///< blocks for an owner

static_assert(groups::TextRun::kMostKmers <= 1u << RoutedRun::kKmersBits);
static_assert(groups::TextRun::kSeveral < 1u << (64 - 2 * RoutedRun::kStartBits - RoutedRun::kKmersBits));

/// Blocks for so many runs, a thread each.
std::uint32_t blocks_for(std::uint64_t runs) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(runs / kThreads + 1, kMostBlocks));
}

/// A row of blocks for each owner.
__global__ __launch_bounds__(kThreads) void make_parts_kernel(CutText text, std::uint32_t base_elements,
                                                              std::uint64_t* parts, std::uint32_t* kmers) {
  const std::uint32_t owner = blockIdx.y, lane = threadIdx.x % 32;
  const std::uint32_t begin = text.begins[owner], end = text.begins[owner + 1];
  std::uint64_t* const part = parts + begin + std::size_t{owner} * base_elements;
  const auto* const bases = reinterpret_cast<const std::uint64_t*>(text.packed);
  const std::uint32_t thread = blockIdx.x * kThreads + threadIdx.x, threads = gridDim.x * kThreads;
  for (std::uint32_t i = thread; i < base_elements; i += threads) part[i] = bases[i];
  for (std::uint32_t first = begin + thread - lane; first < end; first += threads) {
    ShardRun run{};
    if (first + lane < end) run = text.runs[first + lane];
    const std::uint32_t sum = warp_inclusive_sum(run.kmers);
    std::uint32_t place = 0;
    if (lane == 31) place = atomicAdd(kmers + owner, sum);
    place = __shfl_sync(~0u, place, 31) + sum - run.kmers;
    if (first + lane < end) part[base_elements + (first + lane - begin)] = RoutedRun::packed(run, place);
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

/// A row of blocks for each owner.
__global__ __launch_bounds__(kThreads) void restore_kernel(CutText text, std::uint32_t base_elements,
                                                           const std::uint64_t* parts,
                                                           const std::uint32_t* kmers,
                                                           const std::uint32_t* returned) {
  const std::uint32_t owner = blockIdx.y, lane = threadIdx.x % 32;
  const std::uint32_t begin = text.begins[owner], runs = text.begins[owner + 1] - begin;
  const std::uint64_t* const part = parts + begin + (std::size_t{owner} + 1) * base_elements;
  for (std::uint32_t before = 0; before < owner; ++before) returned += kmers[before];
  for (std::uint32_t first = blockIdx.x * kThreads + threadIdx.x - lane; first < runs;
       first += gridDim.x * kThreads) {
    RoutedRun routed{};
    if (first + lane < runs) routed = RoutedRun::unpacked(part[first + lane]);
    for_each_routed(routed, [&](std::uint32_t start, std::uint32_t place, bool is_there) {
      if (is_there) text.answers[start] = returned[place];
    });
  }
}

}  // namespace

std::uint32_t routed_base_elements(std::uint32_t starts) { return (TextRuns::packed_words(starts) + 1) / 2; }

std::uint64_t most_part_elements(std::uint32_t starts, const RunRoom& room) {
  return most_elements(starts, 1, room);
}

std::uint64_t most_elements(std::uint32_t starts, std::uint32_t owners, const RunRoom& room) {
  return std::uint64_t{owners} * routed_base_elements(starts) + TextRuns::most_runs(starts, room);
}

void make_parts(const CutText& text, std::uint32_t starts, std::uint32_t owners, std::uint64_t* parts,
                std::uint32_t* kmers, cudaStream_t stream) {
  fill_bytes(kmers, 0, owners, stream);
  const std::uint32_t base_elements = routed_base_elements(starts);
  make_parts_kernel<<<dim3(blocks_for(base_elements), owners), kThreads, 0, DriverLock::Shared(stream)>>>(
      text, base_elements, parts, kmers);
  check_launch("making parts of text for other GPUs");
}

void answer_part(const RoutedPart& part, const index::IndexParams& params, const ShardsThere& shards,
                 std::uint32_t* answers, cudaStream_t stream) {
  if (part.runs == 0) return;
  groups::with_key_types(params.k, [&]<class Key, class Flanks>() {
    answer_part_kernel<Key, Flanks>
        <<<blocks_for(part.runs), kThreads, 0, DriverLock::Shared(stream)>>>(part, params, shards, answers);
  });
  check_launch("looking up k-mers for other GPUs");
}

void restore_answers(const CutText& text, std::uint32_t starts, std::uint32_t owners, std::uint32_t most_runs,
                     const std::uint64_t* parts, const std::uint32_t* kmers, const std::uint32_t* returned,
                     cudaStream_t stream) {
  restore_kernel<<<dim3(blocks_for(most_runs), owners), kThreads, 0, DriverLock::Shared(stream)>>>(
      text, routed_base_elements(starts), parts, kmers, returned);
  check_launch("putting answers in order");
}

}  // namespace warpmer::gpu
