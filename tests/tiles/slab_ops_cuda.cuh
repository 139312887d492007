#pragma once
/// The slab hash on CUDA tiles: a batch of operations is one launch, in which each lane has operations of its
/// own and its group serves them one at a time.

#include <algorithm>

#include "kernels/memory/device_memory.cuh"
#include "kernels/warps/tile_cuda.cuh"
#include "table/work_sharing.h"
#include "tiles/slab_cases.h"
#include "tiles/slab_ops.h"

namespace warpmer::tests {
namespace {

constexpr unsigned kSlabThreads = 256;
constexpr unsigned kSlabBlocks = 64;

template <class T>
void send(const gpu::DeviceArray<T>& to, const std::vector<T>& from) {
  gpu::check(cudaMemcpy(to.data(), from.data(), from.size() * sizeof(T), cudaMemcpyDefault), "sending");
}
template <class T>
std::vector<T> fetch(const gpu::DeviceArray<T>& from) {
  std::vector<T> copy(from.size());
  gpu::check(cudaMemcpy(copy.data(), from.data(), from.bytes(), cudaMemcpyDefault), "running a kernel");
  return copy;
}

/// Makes empty units and their bitmaps, in one super block or several.
template <class UnitsType>
class DeviceUnits {
  using Unit = typename UnitsType::Unit;
  using SuperBlock = typename bench::SuperBlocks<Unit>::SuperBlock;

 public:
  DeviceUnits(std::uint32_t super_blocks, std::uint32_t units)
      : size_(super_blocks),
        units_each_(units),
        words_each_(table::slab_blocks_for(units) * table::kBitmapWords),
        units_(std::max(1u, super_blocks * units)),
        bitmaps_(std::max(1u, super_blocks * words_each_)),
        super_blocks_(super_blocks),
        in_use_(1),
        state_(1) {
    std::vector<Unit> empty(units_.size());
    if constexpr (requires(Unit unit) { unit.slots(); }) {
      for (Unit& unit : empty) table::make_empty(unit);
    }
    send(units_, empty);
    std::vector<std::uint32_t> bitmaps(bitmaps_.size());
    for (std::size_t i = 0; words_each_ > 0 && i < bitmaps.size(); ++i)
      bitmaps[i] = table::bitmap_at_first(units, i % words_each_);
    send(bitmaps_, bitmaps);
    std::vector<SuperBlock> arenas;
    for (std::size_t i = 0; i < super_blocks; ++i)
      arenas.push_back({bitmaps_.data() + i * words_each_, units_.data() + i * units});
    send(super_blocks_, arenas);
    send(in_use_, std::vector{1u});
    send(state_, std::vector<table::SlabAllocState>(1));
  }
  UnitsType units() const {
    if constexpr (std::is_same_v<UnitsType, table::ContiguousUnits<Unit>>) {
      return {bitmaps_.data(), units_.data(), units_each_};
    } else {
      return {super_blocks_.data(), size_, table::slab_blocks_for(units_each_), in_use_.data()};
    }
  }
  table::SlabAlloc<UnitsType> alloc() const { return {units(), state_.data()}; }
  std::uint32_t taken() const {
    int bits = 0;
    const std::vector<std::uint32_t> bitmaps = fetch(bitmaps_);
    for (std::size_t i = 0; words_each_ > 0 && i < bitmaps.size(); ++i)
      bits += std::popcount(bitmaps[i]) - std::popcount(table::bitmap_at_first(units_each_, i % words_each_));
    return static_cast<std::uint32_t>(bits);
  }
  std::uint32_t in_use() const { return fetch(in_use_)[0]; }

 private:
  std::uint32_t size_, units_each_, words_each_;
  gpu::DeviceArray<Unit> units_;
  gpu::DeviceArray<std::uint32_t> bitmaps_;
  gpu::DeviceArray<SuperBlock> super_blocks_;
  gpu::DeviceArray<std::uint32_t> in_use_;
  gpu::DeviceArray<table::SlabAllocState> state_;
};

/// Returns the time. For all lanes of the group, nothing that comes before it in the program happens after
/// it.
template <class Tile>
__device__ std::uint64_t tick(const Tile& tile, unsigned long long* clock) {
  __threadfence();
  tile.group.sync();
  unsigned long long now = 0;
  if (tile.lane() == 0) now = atomicAdd(clock, 1ull);
  now = tile.from_lane(now, 0);
  __threadfence();
  return now;
}

template <class Case>
__global__ void serve_kernel(typename Case::Table table, const SlabRequest* requests, SlabAnswer* answers,
                             std::size_t size, unsigned lanes_at_work, unsigned long long* clock) {
  using Tile = typename Case::Tile;
  constexpr unsigned kLanes = Tile::Group::num_threads();
  const auto group = gpu::cg::tiled_partition<kLanes>(gpu::cg::this_thread_block());
  const Tile tile(group);
  const unsigned lane = blockIdx.x * blockDim.x + threadIdx.x;
  table::ResidentBlock resident = table.resident(tile, lane / kLanes);
  const std::size_t rank = group.thread_rank();
  if (lane - rank >= lanes_at_work) return;
  // All lanes of a group stay together, whether they have something to do or not.
  for (std::size_t first = lane - rank; first < size; first += lanes_at_work) {
    const std::size_t i = first + rank;
    const bool is_active = i < size;
    const SlabRequest mine = is_active ? requests[i] : SlabRequest{};
    SlabAnswer answer;
    table::share_work(tile, is_active, mine, answer, [&](SlabRequest request) {
      const std::uint64_t began = tick(tile, clock);
      SlabAnswer served = Case::serve(table, tile, resident, request);
      served.began = began;
      served.ended = tick(tile, clock);
      return served;
    });
    if (is_active) answers[i] = answer;
  }
}

template <class Case>
__global__ void flush_kernel(typename Case::Table table, FlushedSlabs* flushed) {
  using Tile = typename Case::Tile;
  constexpr unsigned kLanes = Tile::Group::num_threads();
  const Tile tile(gpu::cg::tiled_partition<kLanes>(gpu::cg::this_thread_block()));
  const unsigned groups = gridDim.x * blockDim.x / kLanes;
  for (std::uint32_t b = (blockIdx.x * blockDim.x + threadIdx.x) / kLanes; b < table.buckets(); b += groups) {
    const auto of_bucket = table.flush(tile, b);
    if (tile.lane() != 0) continue;
    atomicAdd(&flushed->elements, of_bucket.elements);
    atomicAdd(&flushed->slabs, of_bucket.slabs);
  }
}

/// Reads a bucket with one group; `elements` has room for `most`.
template <class Case>
__global__ void look_kernel(typename Case::Table table, std::uint32_t bucket, SlabElement* elements,
                            std::uint32_t most, std::uint32_t* size_and_length) {
  using Tile = typename Case::Tile;
  const Tile tile(gpu::cg::tiled_partition<Tile::Group::num_threads()>(gpu::cg::this_thread_block()));
  std::uint32_t size = 0;
  table.for_each(tile, bucket, [&](auto slot) {
    if (tile.lane() == 0 && size < most) elements[size] = Case::element(slot);
    ++size;
  });
  const std::uint32_t length = table.length(tile, bucket);
  if (tile.lane() == 0) {
    size_and_length[0] = size;
    size_and_length[1] = length;
  }
}

template <class Case>
class DeviceSlabTable : public SlabTable {
  using Tile = typename Case::Tile;
  using Table = typename Case::Table;
  using Slab = typename Case::Slab;
  static constexpr unsigned kLanes = Tile::Group::num_threads();

 public:
  explicit DeviceSlabTable(SlabShape shape)
      : shape_(shape), bases_(shape.buckets), units_(shape.super_blocks, shape.units), clock_(1) {
    std::vector<Slab> empty(shape.buckets);
    for (Slab& slab : empty) table::make_empty(slab);
    send(bases_, empty);
    send(clock_, std::vector{0ull});
  }
  /// Runs requests on one group, which serves its lanes in order.
  std::vector<SlabAnswer> run(const std::vector<SlabRequest>& requests) override {
    return run_by(1, kLanes, requests);
  }
  std::vector<SlabAnswer> run_at_once(const std::vector<SlabRequest>& requests) override {
    return run_by(kSlabBlocks, kSlabBlocks * kSlabThreads, requests);
  }
  std::vector<SlabElement> bucket(std::uint32_t number) override {
    std::uint32_t length = 0;
    return look(number, length);
  }
  std::uint32_t length(std::uint32_t bucket) override {
    std::uint32_t length = 0;
    look(bucket, length);
    return length;
  }
  FlushedSlabs flush() override {
    const gpu::DeviceArray<FlushedSlabs> flushed(1);
    send(flushed, std::vector{FlushedSlabs{}});
    flush_kernel<Case><<<kSlabBlocks, kSlabThreads>>>(table(), flushed.data());
    gpu::check_launch("flushing");
    return fetch(flushed)[0];
  }
  std::uint32_t units_taken() override { return units_.taken(); }

 private:
  Table table() const {
    return Table(bases_.data(), typename Case::BucketOf(shape_.buckets, shape_.seed), units_.alloc());
  }
  std::vector<SlabAnswer> run_by(unsigned blocks, unsigned lanes, const std::vector<SlabRequest>& requests) {
    const gpu::DeviceArray<SlabRequest> there(requests.size());
    const gpu::DeviceArray<SlabAnswer> answers(requests.size());
    send(there, requests);
    serve_kernel<Case><<<blocks, kSlabThreads>>>(table(), there.data(), answers.data(), requests.size(),
                                                 lanes, clock_.data());
    gpu::check_launch("serving operations");
    return fetch(answers);
  }
  std::vector<SlabElement> look(std::uint32_t bucket, std::uint32_t& length) {
    const std::uint32_t most = (1 + units_.taken()) * Slab::kSlots;
    const gpu::DeviceArray<SlabElement> elements(most);
    const gpu::DeviceArray<std::uint32_t> size_and_length(2);
    look_kernel<Case><<<1, kLanes>>>(table(), bucket, elements.data(), most, size_and_length.data());
    gpu::check_launch("looking at a bucket");
    const std::vector<std::uint32_t> sizes = fetch(size_and_length);
    length = sizes[1];
    std::vector<SlabElement> all = fetch(elements);
    all.resize(std::min(sizes[0], most));
    return all;
  }

  SlabShape shape_;
  gpu::DeviceArray<Slab> bases_;
  DeviceUnits<typename Case::Units> units_;
  gpu::DeviceArray<unsigned long long> clock_;
};

template <template <class, template <class> class> class CaseOf, class Key, int kLanes, int kSlotsPerLane>
SlabOnTile describe_cuda(const char* name) {
  using Tile = gpu::CudaTile<Key, kLanes, kSlotsPerLane>;
  using Light = CaseOf<Tile, table::ContiguousUnits>;
  using Full = CaseOf<Tile, bench::SuperBlocks>;
  return {.name = name,
          .kind = Light::kKind,
          .slots = Light::Slab::kSlots,
          .is_shared = true,
          .events_per_key = 11,
          .make = [](SlabShape shape) -> std::unique_ptr<SlabTable> {
            if (shape.super_blocks == 1) return std::make_unique<DeviceSlabTable<Light>>(shape);
            return std::make_unique<DeviceSlabTable<Full>>(shape);
          }};
}

}  // namespace
}  // namespace warpmer::tests
