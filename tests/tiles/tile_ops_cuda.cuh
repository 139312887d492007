#pragma once
/// Every scheme on every CUDA tile: an operation is a small kernel, in which one group of lanes, or many at
/// once, work on slots in global memory or on a block's copy of them in shared memory.

#include <doctest/doctest.h>

#include "device_memory.cuh"
#include "table/warpdrive.h"
#include "tile_cuda.cuh"
#include "tiles/tile_ops.h"

namespace warpmer::tests {
namespace {

enum class Where { global, shared };

constexpr unsigned kThreads = 256;
/// Slots of the widest keys that fit the shared memory every block may have.
constexpr std::size_t kMostSharedSlots = 2048;

template <class Key>
class DeviceMemory : public TableMemory<Key> {
 public:
  explicit DeviceMemory(std::size_t slots) : keys_(slots), counts_(slots) {
    fill(table::kEmptyKey<Key>);
    gpu::check(cudaMemset(counts_.data(), 0, counts_.bytes()), "preparing a table");
  }
  [[nodiscard]] table::Slots<Key> slots() override { return {keys_.data(), counts_.data()}; }
  void fill(Key key) override {
    const std::vector<Key> keys(keys_.size(), key);
    gpu::check(cudaMemcpy(keys_.data(), keys.data(), keys_.bytes(), cudaMemcpyDefault), "preparing a table");
  }
  [[nodiscard]] std::vector<Key> keys() const override { return fetch(keys_); }
  [[nodiscard]] std::vector<std::uint32_t> counts() const override { return fetch(counts_); }

 private:
  template <class T>
  static std::vector<T> fetch(const gpu::DeviceArray<T>& array) {
    std::vector<T> copy(array.size());
    gpu::check(cudaMemcpy(copy.data(), array.data(), array.bytes(), cudaMemcpyDefault), "looking at a table");
    return copy;
  }

  gpu::DeviceArray<Key> keys_;
  gpu::DeviceArray<std::uint32_t> counts_;
};

/// An argument or a result of a kernel.
template <class T>
class DeviceCopy {
 public:
  explicit DeviceCopy(std::size_t size) : array_(size) {}
  DeviceCopy(const T* from, std::size_t size) : array_(size) {
    gpu::check(cudaMemcpy(array_.data(), from, array_.bytes(), cudaMemcpyDefault), "passing arguments");
  }
  [[nodiscard]] T* data() const { return array_.data(); }
  /// Waits for the kernel.
  void fetch(T* to) const {
    gpu::check(cudaMemcpy(to, array_.data(), array_.bytes(), cudaMemcpyDefault), "running a kernel");
  }

 private:
  gpu::DeviceArray<T> array_;
};

/// The slots a kernel works on: those it was given, or the block's copy, which goes back at the end. All
/// threads of the block call it together.
template <class Key>
struct Workplace {
  table::Slots<Key> given, here;
  std::size_t copied;  ///< slots; 0: none

  __device__ Workplace(table::Slots<Key> slots, std::size_t to_copy, char* shared)
      : given(slots), here(slots), copied(to_copy) {
    if (copied == 0) return;
    here = {reinterpret_cast<Key*>(shared), reinterpret_cast<std::uint32_t*>(shared + copied * sizeof(Key))};
    copy(given, here);
  }
  __device__ void leave() const {
    if (copied == 0) return;
    __syncthreads();
    copy(here, given);
  }

 private:
  __device__ void copy(table::Slots<Key> from, table::Slots<Key> to) const {
    for (std::size_t i = threadIdx.x; i < copied; i += blockDim.x) {
      to.keys[i] = from.keys[i];
      to.counts[i] = from.counts[i];
    }
    __syncthreads();
  }
};

template <class Key>
struct TableCall {
  table::Slots<Key> slots;
  std::size_t to_copy;  ///< slots, into shared memory
  TableShape shape;
  const Key* keys;
  std::size_t size;
  unsigned groups;  ///< at work; each takes every groups-th key
};

template <class Key, int Lanes, int SlotsPerLane>
__global__ void insert_kernel(TableCall<Key> call, const std::uint32_t* n, table::Insertion* done) {
  extern __shared__ __align__(16) char shared[];
  const Workplace<Key> place(call.slots, call.to_copy, shared);
  const auto group = gpu::cg::tiled_partition<Lanes>(gpu::cg::this_thread_block());
  using Tile = gpu::CudaTile<Key, Lanes, SlotsPerLane>;
  const Tile tile(group);
  const table::WarpDrive<Tile> scheme(place.here, call.shape.window_bits, call.shape.key_bits);
  const unsigned number = (blockIdx.x * blockDim.x + threadIdx.x) / Lanes;
  for (std::size_t i = number; number < call.groups && i < call.size; i += call.groups) {
    const table::Insertion one = scheme.insert(tile, call.keys[i], n[i]);
    if (group.thread_rank() == 0) done[i] = one;
  }
  place.leave();
}

template <class Key, int Lanes, int SlotsPerLane>
__global__ void find_kernel(TableCall<Key> call, std::ptrdiff_t* found) {
  extern __shared__ __align__(16) char shared[];
  const Workplace<Key> place(call.slots, call.to_copy, shared);
  const auto group = gpu::cg::tiled_partition<Lanes>(gpu::cg::this_thread_block());
  using Tile = gpu::CudaTile<Key, Lanes, SlotsPerLane>;
  const Tile tile(group);
  const table::WarpDrive<Tile> scheme(place.here, call.shape.window_bits, call.shape.key_bits);
  const unsigned number = (blockIdx.x * blockDim.x + threadIdx.x) / Lanes;
  for (std::size_t i = number; number < call.groups && i < call.size; i += call.groups) {
    const std::ptrdiff_t slot = scheme.find(tile, call.keys[i]);
    if (group.thread_rank() == 0) found[i] = slot;
  }
}

enum class TileOperation { match, empty, claim, exchange, add };

/// Argument and result of a tile's operation, whichever it is.
template <class Key>
struct TileValue {
  Key key;
  std::uint32_t number;  ///< a mask, a count, or a Claim
};

template <class Key, int Lanes, int SlotsPerLane>
__global__ void tile_kernel(table::Slots<Key> slots, std::size_t to_copy, TileOperation operation, int slot,
                            TileValue<Key> in, TileValue<Key>* out) {
  extern __shared__ __align__(16) char shared[];
  const Workplace<Key> place(slots, to_copy, shared);
  const auto group = gpu::cg::tiled_partition<Lanes>(gpu::cg::this_thread_block());
  const gpu::CudaTile<Key, Lanes, SlotsPerLane> tile(group);
  if (threadIdx.x < Lanes) {
    TileValue<Key> result{Key{0}, 0};
    switch (operation) {
      case TileOperation::match:
        result.number = tile.match(tile.load(place.here), in.key);
        break;
      case TileOperation::empty:
        result.number = tile.empty(tile.load(place.here));
        break;
      case TileOperation::claim:
        result.number = static_cast<std::uint32_t>(tile.claim(place.here, slot, in.key));
        break;
      case TileOperation::exchange: {
        const auto evicted = tile.exchange(place.here, slot, {in.key, in.number});
        result = {evicted.key, evicted.count};
        break;
      }
      case TileOperation::add:
        result.number = tile.add(place.here, slot, in.number);
        break;
    }
    out[threadIdx.x] = result;
  }
  place.leave();
}

/// The functions of a SchemeOnTile.
template <class KeyType, int Lanes, int SlotsPerLane, Where kWhere>
struct OnCudaTile {
  using Key = KeyType;
  using Slots = table::Slots<Key>;
  static constexpr int kWidth = Lanes * SlotsPerLane;

  /// Slots that move to shared memory, of a table or of a single bucket.
  static std::size_t to_copy(std::size_t slots) { return kWhere == Where::shared ? slots : 0; }
  static std::size_t shared_bytes(std::size_t slots) { return slots * (sizeof(Key) + sizeof(std::uint32_t)); }

  static TableCall<Key> call_for(Slots slots, TableShape shape, const DeviceCopy<Key>& keys, std::size_t size,
                                 unsigned groups) {
    return {slots, to_copy(static_cast<std::size_t>(kWidth) << shape.window_bits), shape, keys.data(), size,
            groups};
  }

  static void insert_by(unsigned blocks, unsigned groups, Slots slots, TableShape shape, const Key* keys,
                        const std::uint32_t* n, std::size_t size, table::Insertion* done) {
    if (size == 0) return;
    const DeviceCopy<Key> there(keys, size);
    const DeviceCopy<std::uint32_t> counts(n, size);
    const DeviceCopy<table::Insertion> results(size);
    const TableCall<Key> call = call_for(slots, shape, there, size, groups);
    insert_kernel<Key, Lanes, SlotsPerLane>
        <<<blocks, kThreads, shared_bytes(call.to_copy)>>>(call, counts.data(), results.data());
    gpu::check_launch("inserting");
    results.fetch(done);
  }
  static void insert(Slots slots, TableShape shape, const Key* keys, const std::uint32_t* n, std::size_t size,
                     table::Insertion* done) {
    insert_by(1, 1, slots, shape, keys, n, size, done);
  }
  /// One block shares its memory, all multiprocessors share the device's.
  static void insert_at_once(Slots slots, TableShape shape, const Key* keys, const std::uint32_t* n,
                             std::size_t size, table::Insertion* done) {
    constexpr unsigned kBlocks = kWhere == Where::shared ? 1 : 256;
    insert_by(kBlocks, kBlocks * kThreads / Lanes, slots, shape, keys, n, size, done);
  }

  static void find(Slots slots, TableShape shape, const Key* keys, std::size_t size, std::ptrdiff_t* found) {
    if (size == 0) return;
    const DeviceCopy<Key> there(keys, size);
    const DeviceCopy<std::ptrdiff_t> results(size);
    const TableCall<Key> call = call_for(slots, shape, there, size, kThreads / Lanes);
    find_kernel<Key, Lanes, SlotsPerLane><<<1, kThreads, shared_bytes(call.to_copy)>>>(call, results.data());
    gpu::check_launch("finding");
    results.fetch(found);
  }

  /// What crosses the concept is the same on all lanes.
  static TileValue<Key> tile(TileOperation operation, Slots slots, int slot, TileValue<Key> in) {
    const DeviceCopy<TileValue<Key>> results(Lanes);
    tile_kernel<Key, Lanes, SlotsPerLane><<<1, kThreads, shared_bytes(to_copy(kWidth))>>>(
        slots, to_copy(kWidth), operation, slot, in, results.data());
    gpu::check_launch("operating a tile");
    TileValue<Key> lanes[Lanes];
    results.fetch(lanes);
    bool same = true;
    for (const TileValue<Key>& lane : lanes)
      same = same && lane.key == lanes[0].key && lane.number == lanes[0].number;
    CHECK(same);
    return lanes[0];
  }
  static table::SlotMask match(Slots slots, Key key) {
    return tile(TileOperation::match, slots, 0, {key, 0}).number;
  }
  static table::SlotMask empty(Slots slots) {
    return tile(TileOperation::empty, slots, 0, {Key{0}, 0}).number;
  }
  static table::Claim claim(Slots slots, int slot, Key key) {
    return static_cast<table::Claim>(tile(TileOperation::claim, slots, slot, {key, 0}).number);
  }
  static table::Slot<Key> exchange(Slots slots, int slot, table::Slot<Key> in) {
    const TileValue<Key> out = tile(TileOperation::exchange, slots, slot, {in.key, in.count});
    return {out.key, out.number};
  }
  static std::uint32_t add(Slots slots, int slot, std::uint32_t n) {
    return tile(TileOperation::add, slots, slot, {Key{0}, n}).number;
  }

  static std::unique_ptr<TableMemory<Key>> memory(std::size_t slots) {
    return std::make_unique<DeviceMemory<Key>>(slots);
  }
  static constexpr SchemeOnTile<Key> describe(const char* name) {
    constexpr std::size_t kMostSlots = kWhere == Where::shared ? kMostSharedSlots : SIZE_MAX;
    return {"warpdrive",    name, kWidth, false, kMostSlots, memory,   insert,
            insert_at_once, find, match,  empty, claim,      exchange, add};
  }
};

template <class Key>
constexpr SchemeOnTile<Key> kCudaTiles[] = {
#define WARPMER_CUDA_TILE(Lanes, SlotsPerLane)                                                        \
  OnCudaTile<Key, Lanes, SlotsPerLane, Where::global>::describe(#Lanes " lanes of " #SlotsPerLane),   \
      OnCudaTile<Key, Lanes, SlotsPerLane, Where::shared>::describe(#Lanes " lanes of " #SlotsPerLane \
                                                                           ", shared")
    WARPMER_CUDA_TILE(1, 1),  WARPMER_CUDA_TILE(1, 2),  WARPMER_CUDA_TILE(1, 4),  WARPMER_CUDA_TILE(2, 1),
    WARPMER_CUDA_TILE(2, 2),  WARPMER_CUDA_TILE(2, 4),  WARPMER_CUDA_TILE(4, 1),  WARPMER_CUDA_TILE(4, 2),
    WARPMER_CUDA_TILE(4, 4),  WARPMER_CUDA_TILE(8, 1),  WARPMER_CUDA_TILE(8, 2),  WARPMER_CUDA_TILE(8, 4),
    WARPMER_CUDA_TILE(16, 1), WARPMER_CUDA_TILE(16, 2), WARPMER_CUDA_TILE(32, 1),
#undef WARPMER_CUDA_TILE
};

}  // namespace
}  // namespace warpmer::tests
