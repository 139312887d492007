#pragma once
/// The kernels of live tables, for any scheme of hash tables.
///
/// A scheme is what kernels are given of a table in the memory of a device. It has
/// - `Key`, `Tile`, `kLanes` (of a tile), `kPartBlocks` (of a multiprocessor, for serve_part_kernel);
/// - `beside`: the counts of the two keys that no hash table holds, kEmptyKey and kTombstoneKey;
/// - `groups`: the number of groups of slots that a tile goes through one after another;
/// - `Worker`, made by all lanes of a tile with the scheme, the tile and the tile's number: `insert(key, n)`
///   returns a LiveAnswer, `remove(key, n)` whether the key had so much, `ask(key)` its count; and
///   `for_each(group, visit)` calls `visit(slot)` on all lanes for every key of a group that is there.

#include <algorithm>
#include <cstdint>

#include "groups/group_key.h"
#include "kernels/live/live_kmers.cuh"
#include "kernels/lookup/device_index.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "kernels/text/kmer_tile.cuh"
#include "kernels/warps/tile_cuda.cuh"
#include "kmer/hash.h"
#include "table/work_sharing.h"

namespace warpmer::gpu {

/// Adds to the count of a slot that holds the key.
template <class Tile>
__device__ LiveAnswer add_in_bounds(const Tile& tile, Slots<typename Tile::Key> slots, int slot,
                                    std::uint32_t n) {
  const std::uint32_t before = tile.add(slots, slot, n);
  if (before <= kMostLiveCount - n) return kLiveDone;
  tile.add(slots, slot, 0u - n);
  return kLiveTooMany;
}

/// The keys that no hash table holds: they are the largest.
inline constexpr std::uint32_t kBesideKeys = 2;
template <class Key>
__device__ bool is_beside(Key key) {
  return key >= table::kTombstoneKey<Key>;
}

/// A k-mer's hash, and how often it comes.
template <class Key>
struct LiveRequest {
  Key key;
  std::uint32_t count;
  std::uint32_t unused[sizeof(Key) / sizeof(std::uint32_t) - 1] = {};
};

/// Serves requests on one table. All lanes of a tile call it together.
template <class Scheme, LiveAction kAction>
class LiveServer {
 public:
  using Key = typename Scheme::Key;
  using Tile = typename Scheme::Tile;
  using Request = LiveRequest<Key>;

  __device__ explicit LiveServer(const Scheme& scheme)
      : tile_(cg::tiled_partition<Scheme::kLanes>(cg::this_thread_block())),
        worker_(scheme, tile_, (blockIdx.x * blockDim.x + threadIdx.x) / Scheme::kLanes),
        beside_(scheme.beside) {}

  /// Each lane brings a request, or none, whose answer it gets.
  __device__ void serve(bool is_active, const Request& mine, std::uint32_t& answer) {
    const bool is_beside_table = is_active && is_beside(mine.key);
    if (is_beside_table) {
      answer =
          serve_beside(beside_ + static_cast<std::uint32_t>(table::kEmptyKey<Key> - mine.key), mine.count);
    }
    table::share_work(tile_, is_active && !is_beside_table, mine, answer,
                      [&](const Request& request) { return serve_one(request); });
  }

 private:
  __device__ std::uint32_t serve_one(const Request& request) {
    if constexpr (kAction == LiveAction::ask) {
      return worker_.ask(request.key);
    } else if constexpr (kAction == LiveAction::remove) {
      return worker_.remove(request.key, request.count) ? kLiveDone : kLiveRefused;
    } else {
      return worker_.insert(request.key, request.count);
    }
  }

  __device__ static std::uint32_t serve_beside(std::uint32_t* count, std::uint32_t n) {
    if constexpr (kAction == LiveAction::ask) {
      return *const_cast<volatile std::uint32_t*>(count);
    } else if constexpr (kAction == LiveAction::remove) {
      std::uint32_t there = *const_cast<volatile std::uint32_t*>(count);
      while (there >= n) {
        const std::uint32_t found = atomicCAS(count, there, there - n);
        if (found == there) return kLiveDone;
        there = found;
      }
      return kLiveRefused;
    } else {
      if (atomicAdd(count, n) <= kMostLiveCount - n) return kLiveDone;
      atomicSub(count, n);
      return kLiveTooMany;
    }
  }

  Tile tile_;
  typename Scheme::Worker worker_;
  std::uint32_t* beside_;
};

template <class Scheme, LiveAction kAction>
__global__ __launch_bounds__(kTileThreads) void serve_text_kernel(Scheme scheme, KmerParams kmers,
                                                                  const char* text, std::uint32_t bytes,
                                                                  std::uint32_t starts,
                                                                  std::uint32_t* answers, CutStatus* status) {
  using Key = typename Scheme::Key;
  __shared__ KmerTile tile;
  const std::uint32_t first = blockIdx.x * kTileStarts;
  tile.pack(text, first, bytes, kmers.k, status);
  const KmerHash<Key> hash(kmers.k);
  LiveServer<Scheme, kAction> server(scheme);
  for (std::uint32_t start = threadIdx.x; start < kTileStarts; start += kTileThreads) {
    // A k-mer behind the starts is the next slice's.
    const bool is_active = first + start < starts && tile.has_kmer(start);
    LiveRequest<Key> mine{0, 1};
    if (is_active) mine.key = hash(tile.kmer<Key>(start, kmers.k, kmers.canonical));
    std::uint32_t answer = kNoKmerAnswer;
    server.serve(is_active, mine, answer);
    answers[first + start] = answer;
  }
}

inline constexpr std::uint32_t kKeyThreads = 256;

template <class Scheme, LiveAction kAction>
__global__ __launch_bounds__(kKeyThreads) void serve_keys_kernel(Scheme scheme,
                                                                 const typename Scheme::Key* keys,
                                                                 const std::uint32_t* counts,
                                                                 std::uint32_t size, std::uint32_t* answers) {
  LiveServer<Scheme, kAction> server(scheme);
  const std::uint32_t i = blockIdx.x * kKeyThreads + threadIdx.x;
  const bool is_active = i < size;
  LiveRequest<typename Scheme::Key> mine{0, 1};
  if (is_active) mine = {keys[i], counts == nullptr ? 1 : counts[i]};
  std::uint32_t answer = 0;
  server.serve(is_active, mine, answer);
  if (is_active) answers[i] = answer;
}

/// A warp takes 32 runs at a time, and its lanes share their k-mers.
template <class Scheme, LiveAction kAction>
__global__ __launch_bounds__(kKeyThreads,
                             Scheme::kPartBlocks) void serve_part_kernel(Scheme scheme, KmerParams kmers,
                                                                         RoutedPart part,
                                                                         std::uint32_t* answers) {
  using Key = typename Scheme::Key;
  const auto* const packed = reinterpret_cast<const std::uint32_t*>(part.elements);
  const std::uint64_t* const runs = part.elements + part.base_elements;
  const KmerHash<Key> hash(kmers.k);
  LiveServer<Scheme, kAction> server(scheme);
  const std::uint32_t lane = threadIdx.x % 32;
  for (std::uint32_t first = blockIdx.x * kKeyThreads + threadIdx.x - lane; first < part.runs;
       first += gridDim.x * kKeyThreads) {
    RoutedRun routed{};
    if (first + lane < part.runs) routed = RoutedRun::unpacked(runs[first + lane]);
    for_each_routed(routed, [&](std::uint32_t start, std::uint32_t place, bool is_there) {
      LiveRequest<Key> mine{0, 1};
      if (is_there) mine.key = hash(kmer_at<Key>(packed, start, kmers.k, kmers.canonical));
      std::uint32_t answer = 0;
      server.serve(is_there, mine, answer);
      if (is_there) answers[place] = answer;
    });
  }
}

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

/// Calls `visit(key, count)` for each k-mer of the table, once.
template <class Scheme, class Visit>
__device__ void for_each_element(const Scheme& scheme, Visit&& visit) {
  const int lane = static_cast<int>(threadIdx.x % Scheme::kLanes);
  for_each_group(scheme, [&](typename Scheme::Worker& worker, std::uint64_t group) {
    int turn = 0;  // elements are dealt out to lanes, which all see them
    worker.for_each(group, [&](const table::Slot<typename Scheme::Key>& slot) {
      if (turn == lane) visit(slot.key, slot.count);
      turn = (turn + 1) % Scheme::kLanes;
    });
  });
  if (blockIdx.x != 0 || threadIdx.x >= kBesideKeys) return;
  const std::uint32_t count = scheme.beside[threadIdx.x];
  if (count > 0) visit(table::kEmptyKey<typename Scheme::Key> - threadIdx.x, count);
}

/// Calls `visit(place, count)` for each k-mer of the table, once.
template <class Scheme, class Visit>
__device__ void for_each_kmer(const Scheme& scheme, const KmerParams& kmers, Visit&& visit) {
  using Key = typename Scheme::Key;
  const KmerHash<Key> hash(kmers.k);
  const groups::GroupKeys<Key, Key> keys(kmers.k);
  for_each_element(scheme, [&](Key key, std::uint32_t count) {
    visit(keys.place(hash.inverse(key), kmers.canonical), count);
  });
}

/// Tallies of most counts are in a block's memory.
template <class Scheme>
__global__ __launch_bounds__(kKeyThreads) void tally_kernel(Scheme scheme, unsigned long long* kmers) {
  using Key = typename Scheme::Key;
  constexpr std::uint32_t kOfBlock = 2048, kTallies = LiveKmers<Key>::kTallies;
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
    if (count >= LiveKmers<Key>::kTallies) counts[atomicAdd(size, 1u)] = count;
  });
}

template <class Scheme>
__global__ __launch_bounds__(kKeyThreads) void count_shards_kernel(Scheme scheme, KmerParams kmers,
                                                                   unsigned long long* sizes) {
  for_each_kmer(scheme, kmers,
                [&](const auto& place, std::uint32_t) { atomicAdd(sizes + place.shard, 1ull); });
}

template <class Scheme>
__global__ __launch_bounds__(kKeyThreads) void list_shards_kernel(Scheme scheme, KmerParams kmers,
                                                                  std::uint32_t first, std::uint32_t end,
                                                                  unsigned long long* places,
                                                                  PlacedKmer<typename Scheme::Key>* to) {
  for_each_kmer(scheme, kmers, [&](const auto& place, std::uint32_t count) {
    if (place.shard >= first && place.shard < end)
      to[atomicAdd(places + place.shard, 1ull)] = {place.key, count};
  });
}

/// Launches the kernels for a table that derived classes lay out.
template <class Scheme>
class LaunchedKmers : public LiveKmers<typename Scheme::Key> {
 public:
  using Key = typename Scheme::Key;

  void serve_text(LiveAction action, const char* text, std::uint32_t bytes, std::uint32_t starts,
                  std::uint32_t* answers, CutStatus* status, cudaStream_t stream) const override {
    if (starts == 0) return;
    with_action(action, [&]<LiveAction kAction>() {
      serve_text_kernel<Scheme, kAction><<<tiles_of(starts), kTileThreads, 0, DriverLock::Shared(stream)>>>(
          scheme_, kmers_, text, bytes, starts, answers, status);
    });
    check_launch("serving the k-mers of a text");
  }
  void serve_keys(LiveAction action, const Key* keys, const std::uint32_t* counts, std::uint32_t size,
                  std::uint32_t* answers, cudaStream_t stream) const override {
    if (size == 0) return;
    with_action(action, [&]<LiveAction kAction>() {
      serve_keys_kernel<Scheme, kAction><<<key_blocks(size), kKeyThreads, 0, DriverLock::Shared(stream)>>>(
          scheme_, keys, counts, size, answers);
    });
    check_launch("serving k-mers");
  }
  void serve_part(LiveAction action, const RoutedPart& part, std::uint32_t* answers,
                  cudaStream_t stream) const override {
    if (part.runs == 0) return;
    with_action(action, [&]<LiveAction kAction>() {
      serve_part_kernel<Scheme, kAction>
          <<<key_blocks(part.runs), kKeyThreads, 0, DriverLock::Shared(stream)>>>(scheme_, kmers_, part,
                                                                                  answers);
    });
    check_launch("serving the k-mers of other GPUs");
  }

  void count_shards(unsigned long long* sizes, cudaStream_t stream) const override {
    constexpr auto kKernel = count_shards_kernel<Scheme>;
    kKernel<<<group_blocks<kKernel>(), kKeyThreads, 0, DriverLock::Shared(stream)>>>(scheme_, kmers_, sizes);
    check_launch("counting k-mers");
  }
  void list_shards(std::uint32_t first, std::uint32_t end, unsigned long long* places, PlacedKmer<Key>* to,
                   cudaStream_t stream) const override {
    constexpr auto kKernel = list_shards_kernel<Scheme>;
    kKernel<<<group_blocks<kKernel>(), kKeyThreads, 0, DriverLock::Shared(stream)>>>(scheme_, kmers_, first,
                                                                                     end, places, to);
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
  explicit LaunchedKmers(KmerParams kmers) : kmers_(kmers) {
    const Stream stream;
    fill_bytes(beside_.data(), 0, beside_.size(), stream);
    stream.wait();
    scheme_.beside = beside_.data();
  }

  /// Returns a grid that goes through all groups.
  template <auto kKernel>
  [[nodiscard]] std::uint32_t group_blocks() const {
    return blocks_for<kKernel>(scheme_.groups, kKeyThreads / Scheme::kLanes, kKeyThreads);
  }

  Scheme scheme_{};

 private:
  /// Blocks with a thread for each.
  static std::uint32_t key_blocks(std::uint32_t size) { return (size + kKeyThreads - 1) / kKeyThreads; }

  /// Calls `launch` with the action as a template argument.
  template <class Launch>
  static void with_action(LiveAction action, Launch&& launch) {
    switch (action) {
      case LiveAction::insert:
        return launch.template operator()<LiveAction::insert>();
      case LiveAction::remove:
        return launch.template operator()<LiveAction::remove>();
      case LiveAction::ask:
        return launch.template operator()<LiveAction::ask>();
    }
  }

  KmerParams kmers_;
  DeviceArray<std::uint32_t> beside_{kBesideKeys};
};

}  // namespace warpmer::gpu
