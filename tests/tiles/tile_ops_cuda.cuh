#pragma once
/// Every scheme on every CUDA tile: an operation is a small kernel, in which one group of lanes, or many at
/// once, work on slots in global memory or on a block's copy of them in shared memory.

#include <doctest/doctest.h>

#include "kernels/memory/device_memory.cuh"
#include "kernels/warps/block_tile_cuda.cuh"
#include "kernels/warps/tile_cuda.cuh"
#include "kernels/warps/word_tile_cuda.cuh"
#include "tiles/block_memory.h"
#include "tiles/schemes.h"
#include "tiles/slab_memory.h"

namespace warpmer::tests {
namespace {

enum class Where { global, shared };

constexpr unsigned kThreads = 256;
/// The number of slots of the widest keys that fit the shared memory that every block may have.
constexpr std::size_t kMostSharedSlots = 2048;

template <class Key>
class DeviceMemory : public TableMemory<Key> {
 public:
  explicit DeviceMemory(std::size_t slots) : size_(slots), memory_(slots * table::Slots<Key>::kBytes) {
    fill(table::kEmptyKey<Key>);
  }
  [[nodiscard]] table::Slots<Key> slots() override { return table::Slots<Key>::in(memory_.data(), size_); }
  void fill(Key key) override {
    SlotArray<Key> array(size_);
    array.fill({key, 0});
    gpu::check(cudaMemcpy(memory_.data(), array.data(), memory_.bytes(), cudaMemcpyDefault),
               "preparing a table");
  }
  [[nodiscard]] std::vector<table::Slot<Key>> read() override {
    SlotArray<Key> copy(size_);
    gpu::check(cudaMemcpy(copy.data(), memory_.data(), memory_.bytes(), cudaMemcpyDefault),
               "looking at a table");
    return copy.read();
  }

 private:
  std::size_t size_;
  gpu::DeviceArray<char> memory_;
};

/// The slabs of a table of the slab hash.
template <class Key>
class DeviceSlabMemory : public TableMemory<Key> {
  using Slab = table::CountSlab<Key>;

 public:
  explicit DeviceSlabMemory(std::size_t slots) : slabs_(empty_slabs<Key>(slots)), array_(slabs_.size()) {
    gpu::check(cudaMemcpy(array_.data(), slabs_.data(), array_.bytes(), cudaMemcpyDefault),
               "preparing slabs");
    slabs_.resize(slots / Slab::kSlots);
  }
  [[nodiscard]] table::Slots<Key> slots() override {
    return {reinterpret_cast<Key*>(array_.data()), nullptr};
  }
  void fill(Key /*key*/) override { throw InternalError("slabs are no plain slots"); }
  [[nodiscard]] std::vector<table::Slot<Key>> read() override { return slots_in(fetch()); }

 private:
  const std::vector<Slab>& fetch() const {
    gpu::check(cudaMemcpy(slabs_.data(), array_.data(), slabs_.size() * sizeof(Slab), cudaMemcpyDefault),
               "looking at slabs");
    return slabs_;
  }

  mutable std::vector<Slab> slabs_;
  gpu::DeviceArray<Slab> array_;
};

/// Slots in blocks.
template <class Key>
class DeviceBlockMemory : public TableMemory<Key> {
 public:
  explicit DeviceBlockMemory(std::size_t slots) : blocks_(empty_blocks<Key>(slots)), array_(blocks_.size()) {
    bring();
  }
  [[nodiscard]] table::Slots<Key> slots() override { return array_.data()->slots(); }
  void fill(Key key) override {
    fill_blocks(blocks_, key);
    bring();
  }
  [[nodiscard]] std::vector<table::Slot<Key>> read() override {
    gpu::check(cudaMemcpy(blocks_.data(), array_.data(), array_.bytes(), cudaMemcpyDefault),
               "looking at blocks");
    return slots_in(blocks_);
  }

 private:
  void bring() const {
    gpu::check(cudaMemcpy(array_.data(), blocks_.data(), array_.bytes(), cudaMemcpyDefault),
               "preparing blocks");
  }

  std::vector<table::CountBlock<Key>> blocks_;
  gpu::DeviceArray<table::CountBlock<Key>> array_;
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

/// The slots on which a kernel works: those that it was given, or the block's copy, which goes back at the
/// end. All threads of the block call it together.
template <class Key>
struct Workplace {
  table::Slots<Key> given, here;
  std::size_t copied;  ///< slots; 0: none

  __device__ Workplace(table::Slots<Key> slots, std::size_t to_copy, char* shared)
      : given(slots), here(slots), copied(to_copy) {
    if (copied == 0) return;
    here = table::Slots<Key>::in(shared, copied);
    copy(given, here);
  }
  __device__ void leave() const {
    if (copied == 0) return;
    __syncthreads();
    copy(here, given);
  }

 private:
  __device__ void copy(table::Slots<Key> from, table::Slots<Key> to) const {
    for (std::size_t i = threadIdx.x; i < copied; i += blockDim.x) to.write(i, from.read(i));
    __syncthreads();
  }
};

template <class Key>
struct TableCall {
  table::Slots<Key> slots;
  std::size_t to_copy;  ///< slots, into shared memory
  TableShape shape;
  Operation operation;
  int pass;
  const Key* keys;
  const std::uint32_t* n;
  std::size_t size;
  unsigned groups;  ///< groups at work; each takes every groups-th key
};

template <class Case>
__global__ void operate_kernel(TableCall<typename Case::Key> call, Done<typename Case::Key>* done) {
  using Key = typename Case::Key;
  using Group = typename Case::Tile::Group;
  constexpr unsigned kLanes = Group::num_threads();
  extern __shared__ __align__(16) char shared[];
  const Workplace<Key> place(call.slots, call.to_copy, shared);
  const Group group = gpu::cg::tiled_partition<kLanes>(gpu::cg::this_thread_block());
  const typename Case::Tile tile(group);
  const auto scheme = Case::scheme(place.here, call.shape);
  const unsigned number = (blockIdx.x * blockDim.x + threadIdx.x) / kLanes;
  for (std::size_t i = number; number < call.groups && i < call.size; i += call.groups) {
    const Done<Key> one =
        Case::operate(call.operation, call.pass, scheme, tile, {call.keys[i], call.n[i]}, done[i]);
    if (group.thread_rank() == 0) done[i] = one;
  }
  place.leave();
}

enum class TileOperation {
  match,
  match_part,
  key_in,
  empty,
  count,
  count_now,
  claim,
  exchange,
  exchange_key,
  add,
  store
};

/// The argument and the result of a tile's operation, whichever it is.
template <class Key>
struct TileValue {
  Key key;
  std::uint32_t number;  ///< a mask, a count, or a Claim
};

/// Does one operation of a tile; `over` is the key that a claim expects, or the bits that must match.
template <class Tile, class Key = typename Tile::Key>
__device__ TileValue<Key> operate_tile(const Tile& tile, table::Slots<Key> slots, TileOperation operation,
                                       int slot, TileValue<Key> in, Key over) {
  switch (operation) {
    case TileOperation::match:
      return {Key{0}, tile.match(tile.load(slots), in.key)};
    case TileOperation::match_part:
      if constexpr (table::SlabTile<Tile>) return {Key{0}, tile.match(tile.load(slots), in.key, over)};
      break;
    case TileOperation::key_in:
      if constexpr (table::SlabTile<Tile>) return {tile.key_in(tile.load(slots), slot), 0};
      break;
    case TileOperation::empty:
      return {Key{0}, tile.empty(tile.load(slots))};
    case TileOperation::count:
      return {Key{0}, tile.count(tile.load(slots), slots, slot)};
    case TileOperation::claim:
      return {Key{0}, static_cast<std::uint32_t>(tile.claim(slots, slot, in.key, over))};
    case TileOperation::exchange: {
      const auto evicted = tile.exchange(slots, slot, {in.key, in.number});
      return {evicted.key, evicted.count};
    }
    case TileOperation::exchange_key:
      return {tile.exchange_key(slots, slot, in.key), 0};
    case TileOperation::add:
      return {Key{0}, tile.add(slots, slot, in.number)};
    case TileOperation::store:
      tile.store(slots, slot, in.number);
      break;
    case TileOperation::count_now:
      if constexpr (table::SlabTile<Tile>) return {Key{0}, tile.count(slots, slot)};
      break;
  }
  return {Key{0}, 0};
}

template <class Tile, class Key = typename Tile::Key>
__global__ void tile_kernel(table::Slots<Key> slots, std::size_t to_copy, TileOperation operation, int slot,
                            TileValue<Key> in, Key over, TileValue<Key>* out) {
  using Group = typename Tile::Group;
  extern __shared__ __align__(16) char shared[];
  const Workplace<Key> place(slots, to_copy, shared);
  const Group group = gpu::cg::tiled_partition<Group::num_threads()>(gpu::cg::this_thread_block());
  const Tile tile(group);
  if (threadIdx.x < Group::num_threads())
    out[threadIdx.x] = operate_tile(tile, place.here, operation, slot, in, over);
  place.leave();
}

/// The functions of a SchemeOnTile, for a scheme of tiles/schemes.h.
template <class Case, Where kWhere>
struct OnCudaTile {
  using Tile = typename Case::Tile;
  using Key = typename Tile::Key;
  using Slots = table::Slots<Key>;
  using Value = TileValue<Key>;
  static constexpr unsigned kLanes = Tile::Group::num_threads();

  /// Returns the number of slots, of a table or of a single bucket, that move to shared memory.
  static std::size_t to_copy(std::size_t slots) { return kWhere == Where::shared ? slots : 0; }
  static std::size_t shared_bytes(std::size_t slots) { return slots * table::Slots<Key>::kBytes; }

  static void run_by(unsigned blocks, unsigned groups, Slots slots, TableShape shape, Operation operation,
                     const Key* keys, const std::uint32_t* n, std::size_t size, Done<Key>* done) {
    if (size == 0) return;
    const DeviceCopy<Key> there(keys, size);
    const DeviceCopy<std::uint32_t> counts(n, size);
    const DeviceCopy<Done<Key>> results(done, size);
    const std::size_t copied = to_copy(Case::slots(shape));
    const int passes = operation == Operation::insert ? Case::kFacts.passes : 1;
    for (int pass = 0; pass < passes; ++pass) {
      operate_kernel<Case><<<blocks, kThreads, shared_bytes(copied)>>>(
          {slots, copied, shape, operation, pass, there.data(), counts.data(), size, groups}, results.data());
      gpu::check_launch("working on a table");
    }
    results.fetch(done);
  }
  /// Runs operations one after another, except for lookups, which do not disturb each other.
  static void run(Slots slots, TableShape shape, Operation operation, const Key* keys, const std::uint32_t* n,
                  std::size_t size, Done<Key>* done) {
    const unsigned groups = operation == Operation::find ? kThreads / kLanes : 1;
    run_by(1, groups, slots, shape, operation, keys, n, size, done);
  }
  /// Runs operations at once: one block shares its shared memory, or all multiprocessors share the device's
  /// memory.
  static void run_at_once(Slots slots, TableShape shape, Operation operation, const Key* keys,
                          const std::uint32_t* n, std::size_t size, Done<Key>* done) {
    constexpr unsigned kBlocks = kWhere == Where::shared ? 1 : 256;
    run_by(kBlocks, kBlocks * kThreads / kLanes, slots, shape, operation, keys, n, size, done);
  }

  /// Runs one operation of the tile; arguments and results are the same on all lanes.
  static Value tile(TileOperation operation, Slots slots, int slot, Value in, Key over = Key{0}) {
    const DeviceCopy<Value> results(kLanes);
    tile_kernel<Tile><<<1, kThreads, shared_bytes(to_copy(Tile::kWidth))>>>(
        slots, to_copy(Tile::kWidth), operation, slot, in, over, results.data());
    gpu::check_launch("operating a tile");
    Value lanes[kLanes];
    results.fetch(lanes);
    bool same = true;
    for (const Value& lane : lanes) same = same && lane.key == lanes[0].key && lane.number == lanes[0].number;
    CHECK(same);
    return lanes[0];
  }
  static table::SlotMask match(Slots slots, Key key) {
    return tile(TileOperation::match, slots, 0, {key, 0}).number;
  }
  static table::SlotMask match_part(Slots slots, Key key, Key bits) {
    return tile(TileOperation::match_part, slots, 0, {key, 0}, bits).number;
  }
  static Key key_in(Slots slots, int slot) {
    return tile(TileOperation::key_in, slots, slot, {Key{0}, 0}).key;
  }
  static table::SlotMask empty(Slots slots) {
    return tile(TileOperation::empty, slots, 0, {Key{0}, 0}).number;
  }
  static std::uint32_t count(Slots slots, int slot) {
    return tile(TileOperation::count, slots, slot, {Key{0}, 0}).number;
  }
  static table::Claim claim(Slots slots, int slot, Key key, Key over) {
    return static_cast<table::Claim>(tile(TileOperation::claim, slots, slot, {key, 0}, over).number);
  }
  static table::Slot<Key> exchange(Slots slots, int slot, table::Slot<Key> in) {
    const Value out = tile(TileOperation::exchange, slots, slot, {in.key, in.count});
    return {out.key, out.number};
  }
  static Key exchange_key(Slots slots, int slot, Key in) {
    return tile(TileOperation::exchange_key, slots, slot, {in, 0}).key;
  }
  static std::uint32_t add(Slots slots, int slot, std::uint32_t n) {
    return tile(TileOperation::add, slots, slot, {Key{0}, n}).number;
  }
  static void store(Slots slots, int slot, std::uint32_t n) {
    tile(TileOperation::store, slots, slot, {Key{0}, n});
  }

  static std::uint32_t count_now(Slots slots, int slot) {
    return tile(TileOperation::count_now, slots, slot, {Key{0}, 0}).number;
  }

  static std::unique_ptr<TableMemory<Key>> plain_memory(std::size_t slots) {
    if constexpr (Case::kFacts.in_blocks) return std::make_unique<DeviceBlockMemory<Key>>(slots);
    return std::make_unique<DeviceMemory<Key>>(slots);
  }
  static std::unique_ptr<TableMemory<Key>> memory(std::size_t slots) {
    if constexpr (Case::kFacts.chains) return std::make_unique<DeviceSlabMemory<Key>>(slots);
    return plain_memory(slots);
  }
  static constexpr SchemeOnTile<Key> describe(const char* name) {
    static_assert(table::Tile<Tile>);
    return {.scheme = Case::kFacts,
            .tile = name,
            .width = Tile::kWidth,
            .exclusive = false,
            .most_slots = kWhere == Where::shared ? kMostSharedSlots : SIZE_MAX,
            .memory = memory,
            .plain_memory = plain_memory,
            .slots = Case::slots,
            .run = run,
            .run_at_once = run_at_once,
            .address = Case::address,
            .reach = Case::reach,
            .match = match,
            .empty = empty,
            .count = count,
            .claim = claim,
            .exchange = exchange,
            .exchange_key = exchange_key,
            .add = add,
            .store = store,
            .is_slab_tile = table::SlabTile<Tile>,
            .match_part = match_part,
            .key_in = key_in,
            .count_now = count_now};
  }
};

/// Makes an element of an array of SchemeOnTile, in global memory.
#define WARPMER_CUDA_GLOBAL_TILE(Scheme, Key, Lanes, SlotsPerLane)                      \
  OnCudaTile<Scheme<gpu::CudaTile<Key, Lanes, SlotsPerLane>>, Where::global>::describe( \
      #Lanes " lanes of " #SlotsPerLane)

/// Makes two elements of an array of SchemeOnTile: in global and in shared memory.
#define WARPMER_CUDA_TILE(Scheme, Key, Lanes, SlotsPerLane)                                 \
  OnCudaTile<Scheme<gpu::CudaTile<Key, Lanes, SlotsPerLane>>, Where::global>::describe(     \
      #Lanes " lanes of " #SlotsPerLane),                                                   \
      OnCudaTile<Scheme<gpu::CudaTile<Key, Lanes, SlotsPerLane>>, Where::shared>::describe( \
          #Lanes " lanes of " #SlotsPerLane ", shared")

/// Makes an element for slots in blocks.
#define WARPMER_CUDA_BLOCK_TILE(Key, Lanes)                                                  \
  OnCudaTile<BlockWarpDrive<gpu::CudaBlockTile<Key, Lanes>>, Where::global>::describe(#Lanes \
                                                                                      " lanes of a block")

/// Makes the same for tables of words.
#define WARPMER_CUDA_WORD_TILE(Scheme, Lanes, SlotsPerLane)                                \
  OnCudaTile<Scheme<gpu::CudaWordTile<Lanes, SlotsPerLane>>, Where::global>::describe(     \
      #Lanes " lanes of " #SlotsPerLane),                                                  \
      OnCudaTile<Scheme<gpu::CudaWordTile<Lanes, SlotsPerLane>>, Where::shared>::describe( \
          #Lanes " lanes of " #SlotsPerLane ", shared")

}  // namespace
}  // namespace warpmer::tests
