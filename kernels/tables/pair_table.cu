#include <algorithm>

#include "kernels/memory/persistent_grid.cuh"
#include "kernels/tables/pair_table.cuh"
#include "kernels/warps/word_tile_cuda.cuh"
#include "table/warpdrive.h"

namespace warpmer::gpu {

namespace {

constexpr unsigned kPairThreads = 256;
/// Four lanes to a key, as Juenger et al. have them on several GPUs (section V-C). They look at windows of 8
/// slots, which is the fastest at loads of 0.8 and more.
constexpr int kPairLanes = 4, kPairSlotsPerLane = 2, kWindow = kPairLanes * kPairSlotsPerLane;
/// Items that a group takes, where there are many: so few that the device is never held for long, and kernels
/// of other batches get in between.
constexpr std::size_t kTurns = 32;
/// The paper's p_max: far more windows than a key visits while there is room.
constexpr std::uint32_t kMostWindows = 4096;

template <Reading kReading>
using PairTile = CudaWordTile<kPairLanes, kPairSlotsPerLane, kReading>;
template <Reading kReading>
using Probing = table::HashedWindows<PairTile<kReading>, kWindow>;
template <Reading kReading>
using Scheme = table::WarpDrive<PairTile<kReading>, Probing<kReading>>;

/// Calls `work(tile, i, item)` for every item, by a group of lanes. Items are read a turn ahead.
template <Reading kReading, class Item, class Work>
__device__ void for_each_item(const Item* items, std::size_t n, Work&& work) {
  const PairTile<kReading> tile(cg::tiled_partition<kPairLanes>(cg::this_thread_block()));
  const std::size_t groups = std::size_t{gridDim.x} * (kPairThreads / kPairLanes);
  std::size_t i = (std::size_t{blockIdx.x} * kPairThreads + threadIdx.x) / kPairLanes;
  if (i >= n) return;
  Item next = __ldcs(items + i);
  for (; i < n; i += groups) {
    const Item item = next;
    if (i + groups < n) next = __ldcs(items + i + groups);
    work(tile, i, item);
  }
}

__global__ void __launch_bounds__(kPairThreads)
    insert_kernel(Scheme<Reading::changing> scheme, const unsigned long long* pairs, std::size_t n,
                  unsigned long long* overflow) {
  for_each_item<Reading::changing>(
      pairs, n, [&](const auto& tile, std::size_t /*i*/, unsigned long long pair) {
        const bool placed = scheme.insert(tile, table::key_of(pair), table::count_of(pair)).placed;
        if (!placed && tile.group.thread_rank() == 0) atomicAdd(overflow, 1ull);
      });
}

__global__ void __launch_bounds__(kPairThreads)
    find_kernel(Scheme<Reading::finished> scheme, const table::Key32* keys, std::size_t n,
                std::uint32_t* answers) {
  for_each_item<Reading::finished>(keys, n, [&](const auto& tile, std::size_t i, table::Key32 key) {
    const table::Found found = scheme.find_with_count(tile, key);
    if (tile.group.thread_rank() == 0) __stcs(answers + i, found.slot < 0 ? kNoValue : found.count);
  });
}

__global__ void __launch_bounds__(kPairThreads) clear_pairs_kernel(std::uint64_t* words, std::size_t n) {
  const std::size_t stride = std::size_t{gridDim.x} * kPairThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kPairThreads + threadIdx.x; i < n; i += stride)
    words[i] = table::kEmptyWord;
}

/// Enough to fill the device, and more where each would have more than its turns.
std::uint32_t blocks_in_turns(std::size_t n, std::uint32_t grid) {
  constexpr std::size_t kGroups = kPairThreads / kPairLanes;
  const std::size_t filling = std::min<std::size_t>(grid, blocks_of(n, kGroups));
  return static_cast<std::uint32_t>(std::max(filling, n / (kGroups * kTurns)));
}

}  // namespace

PairTable::PairTable(std::size_t least_slots, std::uint32_t seed)
    : windows_(table::windows_from((least_slots + kWindow - 1) / kWindow)),
      seed_(seed),
      words_(std::size_t{windows_} * kWindow),
      overflow_(1),
      grid_(persistent_grid(insert_kernel, kPairThreads, 0)) {
  clear(memory_stream());
  check(cudaStreamSynchronize(memory_stream()), "making a table");
}

void PairTable::clear(cudaStream_t stream) {
  clear_pairs_kernel<<<grid_, kPairThreads, 0, DriverLock::Shared(stream)>>>(words_.data(), words_.size());
  check_launch("emptying a table");
  fill_bytes(overflow_.data(), 0, 1, stream);
}

void PairTable::insert(const std::uint64_t* pairs, std::size_t n, cudaStream_t stream) const {
  if (n == 0) return;
  const Scheme<Reading::changing> scheme({words_.data()}, {windows_, seed_, kMostWindows});
  insert_kernel<<<blocks_in_turns(n, grid_), kPairThreads, 0, DriverLock::Shared(stream)>>>(
      scheme, reinterpret_cast<const unsigned long long*>(pairs), n, overflow_.data());
  check_launch("inserting pairs");
}

void PairTable::find(const table::Key32* keys, std::size_t n, std::uint32_t* answers,
                     cudaStream_t stream) const {
  if (n == 0) return;
  const Scheme<Reading::finished> scheme({words_.data()}, {windows_, seed_, kMostWindows});
  find_kernel<<<blocks_in_turns(n, grid_), kPairThreads, 0, DriverLock::Shared(stream)>>>(scheme, keys, n,
                                                                                          answers);
  check_launch("looking keys up");
}

std::uint64_t PairTable::overflow() const {
  const DriverLock::Shared use;
  unsigned long long overflow = 0;
  check(cudaMemcpy(&overflow, overflow_.data(), sizeof overflow, cudaMemcpyDefault), "working on a table");
  return overflow;
}

}  // namespace warpmer::gpu
