#pragma once
/// The kernels that serve the k-mers of live tables, for any scheme of hash tables.
///
/// A scheme has, besides what entry_kernels.cuh asks for, `kTextBlocks` and `kPartBlocks`, so many blocks of
/// serve_text_kernel and of serve_part_kernel that a multiprocessor shall have room for (0: as the compiler
/// likes), and its `Worker` has `insert(key, n)`, which returns a LiveAnswer, `remove(key, n)`, which returns
/// whether the key had so much, `ask(key)`, which returns its count, and `drop_removed(group)`, which makes
/// the room of keys with counts of 0 free and returns their number.

#include <cstdint>

#include "kernels/live/entry_kernels.cuh"
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

template <class Key>
__device__ bool is_beside(Key key) {
  return key >= table::kTombstoneKey<Key>;
}

/// A k-mer's hash, and how often it comes.
template <class Key>
struct CountedRequest {
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

  __device__ explicit LiveServer(const Scheme& scheme)
      : tile_(cg::tiled_partition<Scheme::kLanes>(cg::this_thread_block())),
        worker_(scheme, tile_, (blockIdx.x * blockDim.x + threadIdx.x) / Scheme::kLanes),
        beside_(scheme.beside) {}

  /// Each lane brings a k-mer's hash, or none, and gets its answer.
  __device__ void serve(bool is_active, Key mine, std::uint32_t& answer) {
    share(is_active, mine, 1, mine, answer, [&](Key key) { return serve_one(key, 1); });
  }
  /// The same for a k-mer that comes so often.
  __device__ void serve(bool is_active, const CountedRequest<Key>& mine, std::uint32_t& answer) {
    share(is_active, mine.key, mine.count, mine, answer,
          [&](const CountedRequest<Key>& request) { return serve_one(request.key, request.count); });
  }

 private:
  template <class Request, class Serve>
  __device__ void share(bool is_active, Key key, std::uint32_t n, const Request& mine, std::uint32_t& answer,
                        Serve&& serve) {
    const bool is_beside_table = is_active && is_beside(key);
    if (is_beside_table)
      answer = serve_beside(beside_ + static_cast<std::uint32_t>(table::kEmptyKey<Key> - key), n);
    table::share_work(tile_, is_active && !is_beside_table, mine, answer, serve);
  }

  __device__ std::uint32_t serve_one(Key key, std::uint32_t n) {
    if constexpr (kAction == LiveAction::ask) {
      return worker_.ask(key);
    } else if constexpr (kAction == LiveAction::remove) {
      return worker_.remove(key, n) ? kLiveDone : kLiveRefused;
    } else {
      return worker_.insert(key, n);
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
__global__ __launch_bounds__(kTileThreads, Scheme::kTextBlocks) void serve_text_kernel(
    Scheme scheme, KmerParams kmers, const char* text, std::uint32_t bytes, std::uint32_t starts,
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
    Key mine = 0;
    if (is_active) mine = hash(tile.kmer<Key>(start, kmers.k, kmers.canonical));
    std::uint32_t answer = kNoKmerAnswer;
    server.serve(is_active, mine, answer);
    answers[first + start] = answer;
  }
}

template <class Scheme, LiveAction kAction>
__global__ __launch_bounds__(kKeyThreads) void serve_keys_kernel(Scheme scheme,
                                                                 const typename Scheme::Key* keys,
                                                                 const std::uint32_t* counts,
                                                                 std::uint32_t size, std::uint32_t* answers) {
  LiveServer<Scheme, kAction> server(scheme);
  const std::uint32_t i = blockIdx.x * kKeyThreads + threadIdx.x;
  const bool is_active = i < size;
  CountedRequest<typename Scheme::Key> mine{0, 1};
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
      Key mine = 0;
      if (is_there) mine = hash(kmer_at<Key>(packed, start, kmers.k, kmers.canonical));
      std::uint32_t answer = 0;
      server.serve(is_there, mine, answer);
      if (is_there) answers[place] = answer;
    });
  }
}

template <class Scheme>
__global__ __launch_bounds__(kKeyThreads) void drop_removed_kernel(Scheme scheme,
                                                                   unsigned long long* dropped) {
  for_each_group(scheme, [&](const typename Scheme::Worker& worker, std::uint64_t group) {
    const std::uint32_t here = worker.drop_removed(group);
    if (here > 0 && threadIdx.x % Scheme::kLanes == 0)
      atomicAdd(dropped, static_cast<unsigned long long>(here));
  });
}

/// Launches the kernels for a table that derived classes lay out.
template <class Scheme>
class LaunchedKmers : public LaunchedEntries<Scheme, LiveKmers<typename Scheme::Key>> {
  using Base = LaunchedEntries<Scheme, LiveKmers<typename Scheme::Key>>;

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
      serve_keys_kernel<Scheme, kAction>
          <<<blocks_of(size, kKeyThreads), kKeyThreads, 0, DriverLock::Shared(stream)>>>(
              scheme_, keys, counts, size, answers);
    });
    check_launch("serving k-mers");
  }
  void serve_part(LiveAction action, const RoutedPart& part, std::uint32_t* answers,
                  cudaStream_t stream) const override {
    if (part.runs == 0) return;
    with_action(action, [&]<LiveAction kAction>() {
      serve_part_kernel<Scheme, kAction>
          <<<blocks_of(part.runs, kKeyThreads), kKeyThreads, 0, DriverLock::Shared(stream)>>>(scheme_, kmers_,
                                                                                              part, answers);
    });
    check_launch("serving the k-mers of other GPUs");
  }

  std::uint64_t drop_removed(cudaStream_t stream) const override {
    constexpr auto kKernel = drop_removed_kernel<Scheme>;
    const DeviceArray<unsigned long long> on_device(1);
    unsigned long long dropped = 0;
    fill_bytes(on_device.data(), 0, 1, stream);
    kKernel<<<this->template group_blocks<kKernel>(), kKeyThreads, 0, DriverLock::Shared(stream)>>>(
        scheme_, on_device.data());
    check_launch("dropping removed k-mers");
    copy_to_host(&dropped, on_device.data(), 1, stream);
    check(cudaStreamSynchronize(stream), "dropping removed k-mers");
    return dropped;
  }

 protected:
  explicit LaunchedKmers(KmerParams kmers) : Base(kmers) {
    const Stream stream;
    fill_bytes(beside_.data(), 0, beside_.size(), stream);
    stream.wait();
    scheme_.beside = beside_.data();
  }

  using Base::kmers_, Base::scheme_;

 private:
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

  DeviceArray<std::uint32_t> beside_{kBesideKeys};
};

}  // namespace warpmer::gpu
