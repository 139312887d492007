#pragma once
/// A table of words on a GPU: a group of `Lanes` lanes works on one key after another, each lane at
/// `SlotsPerLane` words of a bucket.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "kernels/warps/word_tile_cuda.cuh"
#include "tables/gpu/gpu_split.cuh"
#include "tables/keys.h"
#include "tables/table_lists.h"
#include "tables/tile_probe_counting.h"
#include "tables/word_tables.h"

namespace warpmer::bench {
namespace {

constexpr unsigned kThreads = 256;

/// Prefetches into the L2 the first words that a lane will look at for its next key.
__device__ inline void fetch(const std::uint64_t* at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }

/// Adds up the totals of a group.
template <class T>
__device__ void report(const T& tile, unsigned long long overflow, Totals* totals) {
  if (tile.group.thread_rank() != 0) return;
  if (overflow > 0) atomicAdd(&totals->overflow, overflow);
  if constexpr (requires { tile.probes(); })
    atomicAdd(&totals->probes, static_cast<unsigned long long>(tile.probes()));
}

/// Walks the keys of a group, which are a fixed stride apart. Items are read one turn ahead, and so are first
/// buckets if `kAhead` is asked for.
template <class Table, class T, class Item, class Key, class Work>
__device__ void for_each_item(const Item* items, std::size_t size, bool ahead,
                              const typename Table::Scheme& scheme, const T& tile, Key&& key_of_item,
                              Work&& work) {
  constexpr unsigned kLanes = T::Group::num_threads();
  const std::size_t groups = std::size_t{gridDim.x} * (kThreads / kLanes);
  std::size_t i = (std::size_t{blockIdx.x} * kThreads + threadIdx.x) / kLanes;
  if (i >= size) return;
  Item next = __ldcs(items + i);
  for (; i < size; i += groups) {
    const Item item = next;
    if (i + groups < size) {
      next = __ldcs(items + i + groups);
      if (ahead) {
        fetch(Table::first_bucket(scheme, key_of_item(next)).words +
              tile.group.thread_rank() * (T::kWidth / kLanes));
      }
    }
    work(i, item);
  }
}

/// Values of `kPass` other than the number of a counting insertion's pass.
constexpr int kDistinctPass = -1, kReplacingPass = -2;

/// Inserts pairs.
template <class Table, class T, class Inner, int kPass>
__global__ void __launch_bounds__(kThreads)
    insert_kernel(typename Table::Scheme scheme, const unsigned long long* pairs, std::size_t size,
                  bool ahead, Totals* totals) {
  const T tile{Inner(gpu::cg::tiled_partition<T::Group::num_threads()>(gpu::cg::this_thread_block()))};
  unsigned long long overflow = 0;
  for_each_item<Table>(
      pairs, size, ahead, scheme, tile, [](unsigned long long pair) { return table::key_of(pair); },
      [&](std::size_t /*i*/, unsigned long long pair) {
        const table::Slot<table::Key32> in{table::key_of(pair), table::count_of(pair)};
        bool placed = false;
        if constexpr (kPass == kDistinctPass) {
          placed = Table::insert_distinct(scheme, tile, in);
        } else if constexpr (kPass == kReplacingPass) {
          placed = Table::replace(scheme, tile, in);
        } else {
          placed = Table::count(kPass, scheme, tile, in);
        }
        overflow += placed ? 0 : 1;
      });
  report(tile, overflow, totals);
}

template <class Table, class T, class Inner>
__global__ void __launch_bounds__(kThreads)
    find_kernel(typename Table::Scheme scheme, const table::Key32* keys, std::size_t size, bool ahead,
                std::uint32_t* answers, Totals* totals) {
  const T tile{Inner(gpu::cg::tiled_partition<T::Group::num_threads()>(gpu::cg::this_thread_block()))};
  for_each_item<Table>(
      keys, size, ahead, scheme, tile, [](table::Key32 key) { return key; },
      [&](std::size_t i, table::Key32 key) {
        const table::Found found = scheme.find_with_count(tile, key);
        if (tile.group.thread_rank() == 0) __stcs(answers + i, found.slot < 0 ? kAbsent : found.count);
      });
  report(tile, 0, totals);
}

/// Finds in which of 256 equal parts of the table the first bucket of each key lies.
template <class Table>
__global__ void __launch_bounds__(kThreads)
    part_kernel(typename Table::Scheme scheme, const unsigned long long* pairs, std::size_t size,
                const std::uint64_t* first_word, std::uint64_t parts_per_2_32_words, std::uint8_t* parts) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < size; i += stride) {
    const auto word = static_cast<std::uint64_t>(
        Table::first_bucket(scheme, table::key_of(__ldcs(pairs + i))).words - first_word);
    parts[i] = static_cast<std::uint8_t>(word * parts_per_2_32_words >> 32);
  }
}

template <class Family, int Lanes, int SlotsPerLane>
class GpuWordTable : public TableUnderTest {
 public:
  explicit GpuWordTable(const TablePlan& plan)
      : buckets_(Family::buckets_for(
            static_cast<std::uint64_t>(std::llround(static_cast<double>(plan.distinct) / plan.load)),
            kBucket)),
        words_(slots() + Family::kStash) {}

  [[nodiscard]] std::size_t slots() const override { return Family::slots_of(buckets_, kBucket); }
  [[nodiscard]] std::size_t bytes() const override { return words_.bytes(); }

  void clear(std::uint32_t seed) override {
    seed_ = seed;
    with_stash_ = true;
    fill_words(words_.data(), words_.size(), table::kEmptyWord);
  }

  void insert(const Insertions& job) override {
    if (job.count_probes) {
      insert_pass<Counting<Changing>, Changing, kDistinctPass>(job);
    } else if (job.distinct) {
      insert_pass<Changing, Changing, kDistinctPass>(in_order(job));
    } else if (job.replaces) {
      if constexpr (Family::kReplaces) insert_pass<Changing, Changing, kReplacingPass>(in_order(job));
    } else {
      const Insertions ordered = in_order(job);
      insert_pass<Changing, Changing, 0>(ordered);
      if constexpr (Family::kCountingPasses > 1) insert_pass<Changing, Changing, 1>(ordered);
    }
  }

  bool finish() override {
    std::vector<std::uint64_t> stash(Family::kStash);
    if (!stash.empty()) {
      gpu::check(cudaMemcpy(stash.data(), words_.data() + slots(), stash.size() * sizeof(std::uint64_t),
                            cudaMemcpyDefault),
                 "looking at the stash");
    }
    with_stash_ =
        std::any_of(stash.begin(), stash.end(), [](std::uint64_t word) { return word != table::kEmptyWord; });
    return !with_stash_;
  }

  void find(const Lookups& job) override {
    if (job.count_probes) {
      find_by<Counting<Finished>, Finished>(job);
    } else {
      find_by<Finished, Finished>(job);
    }
  }

 private:
  static constexpr int kBucket = Lanes * SlotsPerLane;
  using Changing = gpu::CudaWordTile<Lanes, SlotsPerLane, gpu::Reading::changing>;
  using Finished = gpu::CudaWordTile<Lanes, SlotsPerLane, gpu::Reading::finished>;
  template <class T>
  using Counting = ProbeCountingTile<T>;
  template <class T>
  using On = typename Family::template On<T>;

  // Grids are planned once, while warming up: asking the driver takes as long as a small table.

  template <class T>
  [[nodiscard]] typename On<T>::Scheme scheme() const {
    return On<T>::scheme({words_.data()}, buckets_, seed_, with_stash_);
  }
  static const unsigned long long* pairs_of(const Insertions& job) {
    return reinterpret_cast<const unsigned long long*>(job.pairs);
  }

  /// Returns the job, with its pairs split if that is asked for.
  Insertions in_order(Insertions job) {
    if (!job.split) return job;
    const auto kernel = part_kernel<On<Changing>>;
    static const std::uint32_t grid = gpu::persistent_grid(kernel, kThreads, 0);
    if (splitter_ == nullptr) splitter_ = std::make_unique<Splitter>(job.size);
    kernel<<<grid, kThreads>>>(scheme<Changing>(), pairs_of(job), job.size, words_.data(),
                               (std::uint64_t{256} << 32) / slots(), splitter_->parts());
    gpu::check_launch("splitting pairs");
    job.pairs = splitter_->split(job.pairs);
    return job;
  }

  template <class T, class Inner, int kPass>
  void insert_pass(const Insertions& job) const {
    const auto kernel = insert_kernel<On<T>, T, Inner, kPass>;
    static const std::uint32_t grid = gpu::persistent_grid(kernel, kThreads, 0);
    kernel<<<grid, kThreads>>>(scheme<T>(), pairs_of(job), job.size, job.ahead, job.totals);
    gpu::check_launch("inserting");
  }

  template <class T, class Inner>
  void find_by(const Lookups& job) const {
    const auto kernel = find_kernel<On<T>, T, Inner>;
    static const std::uint32_t grid = gpu::persistent_grid(kernel, kThreads, 0);
    kernel<<<grid, kThreads>>>(scheme<T>(), job.keys, job.size, job.ahead, job.answers, job.totals);
    gpu::check_launch("looking up");
  }

  std::uint32_t buckets_;
  std::uint32_t seed_ = 0;
  bool with_stash_ = true;
  gpu::DeviceArray<std::uint64_t> words_;
  std::unique_ptr<Splitter> splitter_;
};

template <class Family, int Lanes, int SlotsPerLane>
std::unique_ptr<TableUnderTest> make(const TablePlan& plan) {
  return std::make_unique<GpuWordTable<Family, Lanes, SlotsPerLane>>(plan);
}
template <class Family, int Lanes, int SlotsPerLane>
constexpr TableEntry entry(const char* name, double most_load) {
  return {{.table = name,
           .group = Lanes,
           .bucket = Lanes * SlotsPerLane,
           .window = Family::kWindow,
           .hashes = Family::kHashes,
           .most_load = most_load,
           .replaces = Family::kReplaces},
          make<Family, Lanes, SlotsPerLane>};
}

}  // namespace
}  // namespace warpmer::bench
