// The tables of words on the CPU: threads share them.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "tables/host_threads.h"
#include "tables/keys.h"
#include "tables/table_lists.h"
#include "tables/table_under_test.h"
#include "tables/tile_probe_counting.h"
#include "tables/word_tables.h"
#include "tables/word_tile_atomic.h"

namespace warpmer::bench {
namespace {

/// So many keys ahead of its turn a key's first bucket is fetched.
constexpr std::size_t kKeysAhead = 16;

template <class Family, int Width>
class HostWordTable : public TableUnderTest {
 public:
  explicit HostWordTable(const TablePlan& plan)
      : buckets_(Family::buckets_for(
            static_cast<std::uint64_t>(std::llround(static_cast<double>(plan.distinct) / plan.load)), Width)),
        words_(slots() + Family::kStash) {}

  [[nodiscard]] std::size_t slots() const override { return Family::slots_of(buckets_, Width); }
  [[nodiscard]] std::size_t bytes() const override { return words_.size() * sizeof(std::uint64_t); }

  void clear(std::uint32_t seed) override {
    seed_ = seed;
    with_stash_ = true;
    std::fill(words_.begin(), words_.end(), table::kEmptyWord);
  }
  void insert(const Insertions& job) override {
    if (job.count_probes) {
      insert_on<ProbeCountingTile<Tile>>(job);
    } else {
      insert_on<Tile>(job);
    }
  }
  bool finish() override {
    with_stash_ = !std::all_of(words_.begin() + static_cast<std::ptrdiff_t>(slots()), words_.end(),
                               [](std::uint64_t word) { return word == table::kEmptyWord; });
    return !with_stash_;
  }
  void find(const Lookups& job) override {
    if (job.count_probes) {
      find_on<ProbeCountingTile<Tile>>(job);
    } else {
      find_on<Tile>(job);
    }
  }

 private:
  using Tile = AtomicWordTile<Width>;

  template <class T>
  typename Family::template On<T>::Scheme scheme() {
    return Family::template On<T>::scheme({words_.data()}, buckets_, seed_, with_stash_);
  }

  /// Adds up what a thread has seen.
  template <class T>
  static void report(const T& tile, unsigned long long overflow, Totals* totals) {
    std::atomic_ref(totals->overflow).fetch_add(overflow);
    if constexpr (requires { tile.probes(); })
      std::atomic_ref(totals->probes).fetch_add(static_cast<unsigned long long>(tile.probes()));
  }
  template <class Table, class Scheme>
  static void fetch(const Scheme& scheme, table::Key32 key) {
    __builtin_prefetch(Table::first_bucket(scheme, key).words);
  }

  template <class T>
  void insert_on(const Insertions& job) {
    using Table = typename Family::template On<T>;
    const auto scheme = this->template scheme<T>();
    const auto pass = [&](auto&& insert) {
      on_host_threads(job.size, [&](std::size_t first, std::size_t end) {
        const T tile;
        unsigned long long overflow = 0;
        for (std::size_t i = first; i < end; ++i) {
          if (job.ahead && i + kKeysAhead < end)
            fetch<Table>(scheme, table::key_of(job.pairs[i + kKeysAhead]));
          const table::Slot<table::Key32> in{table::key_of(job.pairs[i]), table::count_of(job.pairs[i])};
          overflow += insert(tile, in) ? 0 : 1;
        }
        report(tile, overflow, job.totals);
      });
    };
    if (job.distinct) {
      pass([&](const T& tile, auto in) { return Table::insert_distinct(scheme, tile, in); });
      return;
    }
    if constexpr (Family::kReplaces) {
      if (job.replaces) {
        pass([&](const T& tile, auto in) { return Table::replace(scheme, tile, in); });
        return;
      }
    }
    for (int number = 0; number < Family::kCountingPasses; ++number)
      pass([&](const T& tile, auto in) { return Table::count(number, scheme, tile, in); });
  }

  template <class T>
  void find_on(const Lookups& job) {
    using Table = typename Family::template On<T>;
    const auto scheme = this->template scheme<T>();
    on_host_threads(job.size, [&](std::size_t first, std::size_t end) {
      const T tile;
      for (std::size_t i = first; i < end; ++i) {
        if (job.ahead && i + kKeysAhead < end) fetch<Table>(scheme, job.keys[i + kKeysAhead]);
        const table::Found found = scheme.find_with_count(tile, job.keys[i]);
        job.answers[i] = found.slot < 0 ? kAbsent : found.count;
      }
      report(tile, 0, job.totals);
    });
  }

  std::uint32_t buckets_;
  std::uint32_t seed_ = 0;
  bool with_stash_ = true;
  std::vector<std::uint64_t> words_;
};

template <class Family, int Width>
std::unique_ptr<TableUnderTest> make(const TablePlan& plan) {
  return std::make_unique<HostWordTable<Family, Width>>(plan);
}
template <class Family, int Width>
constexpr TableEntry entry(const char* name, double most_load) {
  return {{.table = name,
           .group = 1,
           .bucket = Width,
           .window = Family::kWindow,
           .hashes = Family::kHashes,
           .most_load = most_load,
           .replaces = Family::kReplaces},
          make<Family, Width>};
}

constexpr TableEntry kWordTables[] = {
    entry<WarpDriveFamily<32>, 1>("warpdrive", 0.99), entry<WarpDriveFamily<32>, 4>("warpdrive", 0.99),
    entry<WarpDriveFamily<32>, 8>("warpdrive", 0.99), entry<WarpDriveFamily<32>, 32>("warpdrive", 0.99),
    entry<WarpDriveFamily<8>, 8>("warpdrive", 0.99),  entry<CuckooFamily<3>, 16>("bcht", 0.99),
    entry<CuckooFamily<3>, 8>("bcht", 0.98),          entry<CuckooFamily<4>, 1>("1cht", 0.9),
    entry<CuckooFamily<2>, 8>("megakv", 0.97),        entry<IcebergFamily<>, 16>("iceberg", 0.86),
    entry<IcebergFamily<>, 32>("iceberg", 0.93),      entry<CuckooFamily<3>, 32>("bcht", 0.995),
    entry<IcebergFamily<50>, 16>("iceberg-50", 0.9),  entry<IcebergFamily<50>, 32>("iceberg-50", 0.95),
    entry<IcebergFamily<60>, 16>("iceberg-60", 0.9),  entry<IcebergFamily<60>, 32>("iceberg-60", 0.95),
    entry<IcebergFamily<65>, 16>("iceberg-65", 0.9),  entry<IcebergFamily<65>, 32>("iceberg-65", 0.95),
    entry<IcebergFamily<95>, 16>("iceberg-95", 0.9),  entry<IcebergFamily<95>, 32>("iceberg-95", 0.95),
};
}  // namespace

const TableList kHostWordTables = kWordTables;

}  // namespace warpmer::bench
