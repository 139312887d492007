#pragma once
/// The slab hash on a GPU: each lane brings an operation of its own, and its group of `Lanes` lanes, each of
/// which looks at `SlotsPerLane` words of a slab, serves them one after another (table/work_sharing.h). One
/// launch does all operations.

#include <cstdint>
#include <memory>

#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "kernels/warps/tile_cuda.cuh"
#include "table/work_sharing.h"
#include "tables/gpu/gpu_units.cuh"
#include "tables/slab_tables.h"
#include "tables/table_lists.h"
#include "tables/tile_probe_counting.h"

namespace warpmer::bench {
namespace {

constexpr unsigned kSlabThreads = 256;

/// Calls `work(i, is_active)` on all lanes of a group together, until every number below `size` has had its
/// lane. Lanes without a number are not active.
template <class T, class Work>
__device__ void for_each_lane(const T& tile, std::size_t size, Work&& work) {
  const std::size_t rank = tile.group.thread_rank();
  const std::size_t lane = std::size_t{blockIdx.x} * kSlabThreads + threadIdx.x;
  const std::size_t lanes = std::size_t{gridDim.x} * kSlabThreads;
  for (std::size_t first = lane - rank; first < size; first += lanes) work(first + rank, first + rank < size);
}

template <class T, class Inner>
__device__ T tile_of_this_group() {
  return T(Inner(gpu::cg::tiled_partition<T::Group::num_threads()>(gpu::cg::this_thread_block())));
}

/// Returns the group's number among all.
template <class T>
__device__ std::uint32_t worker() {
  return (blockIdx.x * kSlabThreads + threadIdx.x) / T::Group::num_threads();
}

/// Adds up the totals of lanes and their group.
template <class T>
__device__ void report(const T& tile, unsigned long long mine, Totals* totals) {
  if (mine > 0) atomicAdd(&totals->overflow, mine);
  if constexpr (requires { tile.probes(); }) {
    if (tile.group.thread_rank() == 0)
      atomicAdd(&totals->probes, static_cast<unsigned long long>(tile.probes()));
  }
}

template <class Case, class Inner>
__global__ void __launch_bounds__(kSlabThreads)
    insert_kernel(typename Case::Table table, const std::uint64_t* pairs, std::size_t size, bool distinct,
                  Totals* totals) {
  const auto tile = tile_of_this_group<typename Case::Tile, Inner>();
  table::ResidentBlock resident = table.resident(tile, worker<typename Case::Tile>());
  unsigned long long overflow = 0;
  for_each_lane(tile, size, [&](std::size_t i, bool is_active) {
    const std::uint64_t mine = is_active ? pairs[i] : 0;
    std::uint32_t placed = 1;
    table::share_work(tile, is_active, mine, placed, [&](std::uint64_t pair) {
      return std::uint32_t{Case::insert(table, tile, resident, pair, distinct)};
    });
    overflow += placed == 0 ? 1 : 0;
  });
  report(tile, overflow, totals);
}

template <class Case, class Inner>
__global__ void __launch_bounds__(kSlabThreads)
    find_kernel(typename Case::Table table, const Key32* keys, std::size_t size, bool distinct,
                std::uint32_t* answers, Totals* totals) {
  const auto tile = tile_of_this_group<typename Case::Tile, Inner>();
  for_each_lane(tile, size, [&](std::size_t i, bool is_active) {
    const Key32 mine = is_active ? keys[i] : 0;
    std::uint32_t answer = kAbsent;
    table::share_work(tile, is_active, mine, answer,
                      [&](Key32 key) { return Case::find(table, tile, key, distinct); });
    if (is_active) answers[i] = answer;
  });
  report(tile, 0, totals);
}

template <class Case, class Inner>
__global__ void __launch_bounds__(kSlabThreads)
    serve_kernel(typename Case::Table table, const Operation* operations, std::size_t size,
                 std::uint32_t* answers) {
  const auto tile = tile_of_this_group<typename Case::Tile, Inner>();
  table::ResidentBlock resident = table.resident(tile, worker<typename Case::Tile>());
  for_each_lane(tile, size, [&](std::size_t i, bool is_active) {
    const Operation mine = is_active ? operations[i] : Operation{};
    std::uint32_t answer = kAbsent;
    table::share_work(tile, is_active, mine, answer, [&](const Operation& operation) {
      return Case::serve(table, tile, resident, operation);
    });
    if (is_active) answers[i] = answer;
  });
}

template <template <class, template <class> class> class CaseOf, class Inner, template <class> class UnitsOf>
class GpuSlabTable : public TableUnderTest {
  using Plain = CaseOf<Inner, UnitsOf>;
  using Counting = CaseOf<ProbeCountingTile<Inner>, UnitsOf>;
  using Slab = typename Plain::Slab;
  using Units = typename Plain::Units;

 public:
  explicit GpuSlabTable(const TablePlan& plan)
      : bases_(buckets_of_slabs(plan.distinct, plan.load, Slab::kSlots)),
        units_(units_for(plan.most_pairs, Slab::kSlots, most_tiles())) {}

  [[nodiscard]] std::size_t slots() const override { return slabs() * Slab::kSlots; }
  [[nodiscard]] std::size_t bytes() const override { return slabs() * sizeof(Slab); }

  void clear(std::uint32_t seed) override {
    seed_ = seed;
    Slab empty;
    table::make_empty(empty);
    fill_units(bases_.data(), bases_.size(), empty);
    fill_units(units_.data(), units_.shape().units(), empty);
    units_.clear();
  }
  void insert(const Insertions& job) override {
    distinct_ = job.distinct;
    if (job.count_probes) {
      insert_by<Counting>(job);
    } else {
      insert_by<Plain>(job);
    }
  }
  bool finish() override { return true; }
  void find(const Lookups& job) override {
    if (job.count_probes) {
      find_by<Counting>(job);
    } else {
      find_by<Plain>(job);
    }
  }
  void serve(const Operations& job) override {
    const auto kernel = serve_kernel<Plain, Inner>;
    static const std::uint32_t grid = gpu::persistent_grid(kernel, kSlabThreads, 0);
    kernel<<<grid, kSlabThreads>>>(table<Plain>(), job.operations, job.size, job.answers);
    gpu::check_launch("serving operations");
  }

 private:
  // Grids are planned once, while warming up: asking the driver takes as long as a small table.

  /// Returns the largest number of groups at work.
  static std::uint32_t most_tiles() {
    return gpu::persistent_grid(insert_kernel<Plain, Inner>, kSlabThreads, 0) * kSlabThreads /
           Inner::Group::num_threads();
  }
  [[nodiscard]] std::size_t slabs() const { return bases_.size() + units_.taken(); }
  template <class Case>
  [[nodiscard]] typename Case::Table table() const {
    return {bases_.data(), typename Case::BucketOf(static_cast<std::uint32_t>(bases_.size()), seed_),
            units_.alloc()};
  }
  template <class Case>
  void insert_by(const Insertions& job) const {
    const auto kernel = insert_kernel<Case, Inner>;
    static const std::uint32_t grid = gpu::persistent_grid(kernel, kSlabThreads, 0);
    kernel<<<grid, kSlabThreads>>>(table<Case>(), job.pairs, job.size, job.distinct, job.totals);
    gpu::check_launch("inserting");
  }
  template <class Case>
  void find_by(const Lookups& job) const {
    const auto kernel = find_kernel<Case, Inner>;
    static const std::uint32_t grid = gpu::persistent_grid(kernel, kSlabThreads, 0);
    kernel<<<grid, kSlabThreads>>>(table<Case>(), job.keys, job.size, distinct_, job.answers, job.totals);
    gpu::check_launch("looking up");
  }

  gpu::DeviceArray<Slab> bases_;
  GpuUnits<Units> units_;
  std::uint32_t seed_ = 0;
  bool distinct_ = true;
};

template <template <class, template <class> class> class CaseOf, int Lanes, int SlotsPerLane,
          template <class> class UnitsOf>
constexpr TableEntry entry(const char* name) {
  using Inner = gpu::CudaTile<Key64, Lanes, SlotsPerLane>;
  return {slab_configuration<CaseOf<Inner, UnitsOf>>(name, Lanes),
          [](const TablePlan& plan) -> std::unique_ptr<TableUnderTest> {
            return std::make_unique<GpuSlabTable<CaseOf, Inner, UnitsOf>>(plan);
          }};
}

}  // namespace
}  // namespace warpmer::bench
