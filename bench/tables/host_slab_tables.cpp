// The slab hash on the CPU: threads share it.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "tables/host_threads.h"
#include "tables/host_units.h"
#include "tables/slab_tables.h"
#include "tables/table_lists.h"
#include "tables/tile_atomic.h"
#include "tables/tile_probe_counting.h"

namespace warpmer::bench {
namespace {

template <template <class, template <class> class> class CaseOf, class Tile, template <class> class UnitsOf>
class HostSlabTable : public TableUnderTest {
  using Plain = CaseOf<Tile, UnitsOf>;
  using Slab = typename Plain::Slab;
  using Units = typename Plain::Units;

 public:
  explicit HostSlabTable(const TablePlan& plan)
      : bases_(buckets_of_slabs(plan.distinct, plan.load, Slab::kSlots)),
        units_(units_for(plan.most_pairs, Slab::kSlots, host_threads())) {}

  [[nodiscard]] std::size_t slots() const override { return slabs() * Slab::kSlots; }
  [[nodiscard]] std::size_t bytes() const override { return slabs() * sizeof(Slab); }

  void clear(std::uint32_t seed) override {
    seed_ = seed;
    for (Slab& slab : bases_) table::make_empty(slab);
    units_.clear();
    for (Slab& slab : units_.all()) table::make_empty(slab);
  }
  void insert(const Insertions& job) override {
    distinct_ = job.distinct;
    if (job.count_probes) {
      insert_on<ProbeCountingTile<Tile>>(job);
    } else {
      insert_on<Tile>(job);
    }
  }
  bool finish() override { return true; }
  void find(const Lookups& job) override {
    if (job.count_probes) {
      find_on<ProbeCountingTile<Tile>>(job);
    } else {
      find_on<Tile>(job);
    }
  }
  void serve(const Operations& job) override {
    const auto table = this->table<Plain>();
    on_workers(job.size, [&](std::uint32_t worker, std::size_t first, std::size_t end) {
      const Tile tile;
      table::ResidentBlock resident = table.resident(tile, worker);
      for (std::size_t i = first; i < end; ++i)
        job.answers[i] = Plain::serve(table, tile, resident, job.operations[i]);
    });
  }

 private:
  [[nodiscard]] std::size_t slabs() const { return bases_.size() + units_.taken(); }
  template <class Case>
  typename Case::Table table() {
    return {bases_.data(), typename Case::BucketOf(static_cast<std::uint32_t>(bases_.size()), seed_),
            units_.alloc()};
  }
  /// `work(worker, first, end)`: workers have numbers of their own, for SlabAlloc.
  template <class Work>
  void on_workers(std::size_t size, Work&& work) {
    std::atomic<std::uint32_t> workers{0};
    on_host_threads(size, [&](std::size_t first, std::size_t end) { work(workers++, first, end); });
  }
  template <class T>
  static void report(const T& tile, unsigned long long overflow, Totals* totals) {
    std::atomic_ref(totals->overflow).fetch_add(overflow);
    if constexpr (requires { tile.probes(); })
      std::atomic_ref(totals->probes).fetch_add(static_cast<unsigned long long>(tile.probes()));
  }

  template <class T>
  void insert_on(const Insertions& job) {
    using Case = CaseOf<T, UnitsOf>;
    const auto table = this->table<Case>();
    on_workers(job.size, [&](std::uint32_t worker, std::size_t first, std::size_t end) {
      const T tile;
      table::ResidentBlock resident = table.resident(tile, worker);
      unsigned long long overflow = 0;
      for (std::size_t i = first; i < end; ++i)
        overflow += Case::insert(table, tile, resident, job.pairs[i], job.distinct) ? 0 : 1;
      report(tile, overflow, job.totals);
    });
  }
  template <class T>
  void find_on(const Lookups& job) {
    using Case = CaseOf<T, UnitsOf>;
    const auto table = this->table<Case>();
    on_host_threads(job.size, [&](std::size_t first, std::size_t end) {
      const T tile;
      for (std::size_t i = first; i < end; ++i)
        job.answers[i] = Case::find(table, tile, job.keys[i], distinct_);
      report(tile, 0, job.totals);
    });
  }

  std::vector<Slab> bases_;
  HostUnits<Units> units_;
  std::uint32_t seed_ = 0;
  bool distinct_ = true;
};

template <template <class, template <class> class> class CaseOf, class Tile, template <class> class UnitsOf>
constexpr TableEntry entry(const char* name) {
  return {slab_configuration<CaseOf<Tile, UnitsOf>>(name, 1),
          [](const TablePlan& plan) -> std::unique_ptr<TableUnderTest> {
            return std::make_unique<HostSlabTable<CaseOf, Tile, UnitsOf>>(plan);
          }};
}

using PairTile = AtomicTile<ElementSlab<std::uint64_t>::kSlots>;
using KmerTile = AtomicTile<table::CountSlab<Key64>::kSlots>;

constexpr TableEntry kSlabTables[] = {
    entry<SlabPairs, PairTile, table::ContiguousUnits>("slab"),
    entry<SlabPairs, PairTile, SuperBlocks>("slab-full"),
    entry<SlabKmers, KmerTile, table::ContiguousUnits>("slab64"),
};

}  // namespace

const TableList kHostSlabTables = kSlabTables;

}  // namespace warpmer::bench
