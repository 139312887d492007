#pragma once
/// The kernels that go through all entries of a live table, for any scheme of hash tables.
///
/// A scheme is what kernels are given of a table in the memory of a device. It has
/// - `Key`, `Tile`, `kLanes` (of a tile);
/// - `beside`: the counts of the two keys that no hash table holds, kEmptyKey and kTombstoneKey;
/// - `groups`: the number of groups of slots that a tile goes through one after another;
/// - `Worker`, made by all lanes of a tile with the scheme, the tile and the tile's number:
///   `for_each(group, visit)` calls `visit(slot)` on all lanes for every key of a group that is there.

#include <cstdint>

#include "groups/group_key.h"
#include "kernels/freeze/quick_place.cuh"
#include "kernels/live/live_entries.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "kernels/warps/tile_cuda.cuh"
#include "kmer/kmer.h"
#include "table/tile.h"

namespace warpmer::gpu {

/// The keys that no hash table holds: they are the largest.
inline constexpr std::uint32_t kBesideKeys = 2;

inline constexpr std::uint32_t kKeyThreads = 256;

/// Calls `visit(worker, group)` for each group of slots, on all lanes of a tile.
template <class Scheme, class Visit>
__device__ void for_each_group(const Scheme& scheme, Visit&& visit) {
  const std::uint32_t tiles_each = blockDim.x / Scheme::kLanes;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * tiles_each + threadIdx.x / Scheme::kLanes;
  typename Scheme::Worker worker(
      scheme, typename Scheme::Tile(cg::tiled_partition<Scheme::kLanes>(cg::this_thread_block())),
      static_cast<std::uint32_t>(first));
  for (std::uint64_t group = first; group < scheme.groups; group += std::uint64_t{gridDim.x} * tiles_each)
    visit(worker, group);
}

/// Entries that the tiles of a warp have found, which wait until each thread of the warp can take one: in a
/// table that is nearly empty few tiles find one at a time.
template <class Key>
struct WaitingEntries {
  static constexpr std::uint32_t kRoom = 2048 / sizeof(Key);

  table::Slot<Key> slots[kRoom];
  std::uint32_t size;
};

/// Calls `visit(key, count)` for each k-mer of the table, once.
template <class Scheme, class Visit>
__device__ void for_each_element(const Scheme& scheme, Visit&& visit) {
  using Key = typename Scheme::Key;
  constexpr std::uint32_t kTiles = 32 / Scheme::kLanes;  // of a warp
  __shared__ WaitingEntries<Key> of_warps[kKeyThreads / 32];
  WaitingEntries<Key>& waiting = of_warps[threadIdx.x / 32];
  const std::uint32_t lane = threadIdx.x % 32, tile = lane / Scheme::kLanes;
  const std::uint64_t first = (std::uint64_t{blockIdx.x} * kKeyThreads + threadIdx.x) / 32 * kTiles;
  typename Scheme::Worker worker(
      scheme, typename Scheme::Tile(cg::tiled_partition<Scheme::kLanes>(cg::this_thread_block())),
      static_cast<std::uint32_t>(first + tile));
  if (lane == 0) waiting.size = 0;
  __syncwarp();
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kKeyThreads / 32 * kTiles;
  for (std::uint64_t group = first; group < scheme.groups; group += stride) {
    if (group + tile < scheme.groups) {
      worker.for_each(group + tile, [&](const table::Slot<Key>& slot) {
        if (lane % Scheme::kLanes != 0) return;
        const std::uint32_t place = atomicAdd(&waiting.size, 1u);
        if (place < WaitingEntries<Key>::kRoom) {
          waiting.slots[place] = slot;
        } else {
          visit(slot.key, slot.count);
        }
      });
    }
    __syncwarp();
    std::uint32_t size = min(waiting.size, WaitingEntries<Key>::kRoom);
    for (; size >= 32; size -= 32) {
      const table::Slot<Key> slot = waiting.slots[size - 32 + lane];
      visit(slot.key, slot.count);
    }
    __syncwarp();
    if (lane == 0) waiting.size = size;
    __syncwarp();
  }
  if (lane < waiting.size) visit(waiting.slots[lane].key, waiting.slots[lane].count);
  if (blockIdx.x != 0 || threadIdx.x >= kBesideKeys) return;
  const std::uint32_t count = scheme.beside[threadIdx.x];
  if (count > 0) visit(table::kEmptyKey<Key> - threadIdx.x, count);
}

/// Calls `visit(bin, key, count)` for each k-mer of these bins, once; the key is one of groups::GroupKeys.
template <class Scheme, class Visit>
__device__ void for_each_in_bins(const Scheme& scheme, const KmerParams& kmers, const LiveBins& bins,
                                 Visit&& visit) {
  using Key = typename Scheme::Key;
  const groups::GroupKeys<Key, Key> keys(kmers.k);
  const QuickPlace<Key, Key> placing(keys, kmers.canonical);
  for_each_element(scheme, [&](Key key, std::uint32_t count) {
    const auto place = placing(key);
    if (bins.contains(place.shard)) visit(bins.number(place.shard, place.key, keys.bits()), place.key, count);
  });
}

/// Tallies of most counts are in a block's memory.
template <class Scheme>
__global__ __launch_bounds__(kKeyThreads) void tally_kernel(Scheme scheme, unsigned long long* kmers) {
  using Key = typename Scheme::Key;
  constexpr std::uint32_t kOfBlock = 2048, kTallies = LiveEntries<Key>::kTallies;
  __shared__ std::uint32_t of_block[kOfBlock];
  for (std::uint32_t i = threadIdx.x; i < kOfBlock; i += kKeyThreads) of_block[i] = 0;
  __syncthreads();
  for_each_element(scheme, [&](Key, std::uint32_t count) {
    if (count < kOfBlock) {
      atomicAdd(of_block + count, 1u);
    } else {
      atomicAdd(kmers + min(count, kTallies), 1ull);
    }
  });
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < kOfBlock; i += kKeyThreads) {
    if (of_block[i] > 0) atomicAdd(kmers + i, static_cast<unsigned long long>(of_block[i]));
  }
}

template <class Scheme>
__global__ __launch_bounds__(kKeyThreads) void list_large_kernel(Scheme scheme, std::uint32_t* counts,
                                                                 std::uint32_t* size) {
  using Key = typename Scheme::Key;
  for_each_element(scheme, [&](Key, std::uint32_t count) {
    if (count >= LiveEntries<Key>::kTallies) counts[atomicAdd(size, 1u)] = count;
  });
}

template <class Scheme>
__global__ __launch_bounds__(kKeyThreads) void count_bins_kernel(Scheme scheme, KmerParams kmers,
                                                                 LiveBins bins, std::uint32_t* sizes) {
  for_each_in_bins(scheme, kmers, bins,
                   [&](std::uint32_t bin, auto, std::uint32_t) { atomicAdd(sizes + bin, 1u); });
}

template <class Scheme>
__global__ __launch_bounds__(kKeyThreads) void list_bins_kernel(Scheme scheme, KmerParams kmers,
                                                                LiveBins bins, const std::uint64_t* begins,
                                                                std::uint32_t* sizes,
                                                                typename Scheme::Key* keys,
                                                                std::uint32_t* counts) {
  for_each_in_bins(scheme, kmers, bins, [&](std::uint32_t bin, auto key, std::uint32_t count) {
    const std::uint64_t at = begins[bin] + atomicAdd(sizes + bin, 1u);
    keys[at] = key;
    counts[at] = count;
  });
}

/// Launches these kernels for a table that derived classes lay out. `Base` is the interface.
template <class Scheme, class Base>
class LaunchedEntries : public Base {
 public:
  using Key = typename Scheme::Key;

  void count_bins(const LiveBins& bins, std::uint32_t* sizes, cudaStream_t stream) const override {
    constexpr auto kKernel = count_bins_kernel<Scheme>;
    kKernel<<<group_blocks<kKernel>(), kKeyThreads, 0, DriverLock::Shared(stream)>>>(scheme_, kmers_, bins,
                                                                                     sizes);
    check_launch("counting k-mers");
  }
  void list_bins(const LiveBins& bins, const std::uint64_t* begins, std::uint32_t* sizes, Key* keys,
                 std::uint32_t* counts, cudaStream_t stream) const override {
    constexpr auto kKernel = list_bins_kernel<Scheme>;
    kKernel<<<group_blocks<kKernel>(), kKeyThreads, 0, DriverLock::Shared(stream)>>>(
        scheme_, kmers_, bins, begins, sizes, keys, counts);
    check_launch("listing k-mers");
  }
  void tally(unsigned long long* kmers, cudaStream_t stream) const override {
    constexpr auto kKernel = tally_kernel<Scheme>;
    kKernel<<<group_blocks<kKernel>(), kKeyThreads, 0, DriverLock::Shared(stream)>>>(scheme_, kmers);
    check_launch("tallying counts");
  }
  void list_large(std::uint32_t* counts, std::uint32_t* size, cudaStream_t stream) const override {
    constexpr auto kKernel = list_large_kernel<Scheme>;
    kKernel<<<group_blocks<kKernel>(), kKeyThreads, 0, DriverLock::Shared(stream)>>>(scheme_, counts, size);
    check_launch("listing large counts");
  }

 protected:
  explicit LaunchedEntries(KmerParams kmers) : kmers_(kmers) {}

  /// Returns a grid that goes through all groups.
  template <auto kKernel>
  [[nodiscard]] std::uint32_t group_blocks() const {
    return blocks_for<kKernel>(scheme_.groups, kKeyThreads / Scheme::kLanes, kKeyThreads);
  }

  Scheme scheme_{};
  const KmerParams kmers_;
};

}  // namespace warpmer::gpu
