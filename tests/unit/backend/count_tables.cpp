// The tables that a shard can be counted in: each by itself, against a map.
// ctest: one thread

#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backend/count_table.h"
#include "base/error.h"
#include "cpu/count/scheme_counters.h"
#include "cpu/simd/kernels.h"
#include "table/cuckoo.h"
#include "table/iceberg.h"
#include "tiles/unused_slots.h"
#include "unit/cpu/checked_counter.h"

namespace {

using namespace warpmer;
using backend::CountTable;

/// A table of a scheme, for k-mers of as many bits as a key has, so that keys can be anything.
template <class Key>
struct MadeTable {
  static constexpr std::uint32_t kK = sizeof(Key) * 4;

  MadeTable(CountTable scheme, const cpu::Kernels& kernels)
      : table(cpu::make_scheme_counter<Key>(scheme, kernels, kK)) {}

  std::unique_ptr<cpu::HashCounter<Key>> table;
};

/// The same, and what it should hold.
template <class Key>
class CheckedTable : private MadeTable<Key>, public CheckedCounter<Key> {
 public:
  CheckedTable(CountTable scheme, const cpu::Kernels& kernels, double distinct)
      : MadeTable<Key>(scheme, kernels), CheckedCounter<Key>(*this->table) {
    this->table->reset(distinct);
  }
  [[nodiscard]] std::uint64_t rebuilds() const { return this->table->rebuilds(); }
};

/// Begins with room for next to nothing; some keys come very often.
template <class Key>
void grow_many_times(CountTable scheme, const cpu::Kernels& kernels) {
  std::mt19937_64 random(1);
  CheckedTable<Key> table(scheme, kernels, 0);
  std::vector<Key> keys(20000);
  for (Key& key : keys) key = random_key<Key>(random);
  for (int i = 0; i < 60000; ++i) {
    const std::uint64_t number = random();
    const std::size_t which = number % 4 == 0 ? number % 16 : number % keys.size();
    table.add(keys[which], 1 + static_cast<std::uint32_t>(number >> 62));
  }
  CHECK(table.rebuilds() >= 5);
  table.check();
}

/// The keys that mean something to tables, and counts of 2^32 and more, multiples of 2^32 among them.
template <class Key>
void keep_what_is_special(CountTable scheme, const cpu::Kernels& kernels) {
  std::mt19937_64 random(2);
  CheckedTable<Key> table(scheme, kernels, 100);
  const Key special[] = {table::kEmptyKey<Key>, table::kTombstoneKey<Key>, Key{0}, Key{1}};
  for (int i = 0; i < 4; ++i) {
    for (const Key key : special) table.add(key, 1u << 31);
    table.add(Key{2}, UINT32_MAX);
    for (int j = 0; j < 1500; ++j) table.add(random_key<Key>(random), 1);
    table.add(special[i], i % 2 == 0 ? 1u << 31 : 1);
  }
  table.check();
}

/// Keys that share few buckets for the hash functions that a table begins with: it is built anew with others.
/// `OnTile` is the scheme, `load` how full its tables get.
template <class Key, class OnTile>
void try_other_hash_functions(CountTable scheme, double load, const cpu::Kernels& kernels) {
  constexpr std::size_t kKeys = 400;
  std::mt19937_64 random(3);
  const auto buckets = static_cast<std::uint32_t>(1024 / load / OnTile::kBucket + 1);
  const tests::UnusedSlots<Key> unused(OnTile::slots_for(buckets));
  const OnTile on_tile(unused.slots(), buckets, 0);
  const auto is_in_the_first = [&](Key key) {
    for (int i = 0; i < 3; ++i) {
      if (on_tile.bucket_of(key, i) >= buckets / 8) return false;
    }
    return true;
  };
  CheckedTable<Key> table(scheme, kernels, 1024);
  for (std::size_t found = 0; found < kKeys;) {
    const Key key = random_key<Key>(random);
    if (!is_in_the_first(key)) continue;
    table.add(key, 2);
    ++found;
  }
  table.check();
  CHECK(table.rebuilds() == 1);
}

template <class Key>
void check_tables(const cpu::Kernels& kernels) {
  using Tile = table::SerialTile<Key, 16>;
  for (const CountTable scheme : backend::kCountTables) {
    if (!MadeTable<Key>(scheme, kernels).table) continue;  // it is none of src/table
    CAPTURE(backend::name_of(scheme));
    grow_many_times<Key>(scheme, kernels);
    keep_what_is_special<Key>(scheme, kernels);
  }
  try_other_hash_functions<Key, table::Cuckoo<Tile, 3>>(CountTable::bcht, 0.9, kernels);
  try_other_hash_functions<Key, table::Iceberg<Tile>>(CountTable::iceberg, 0.78, kernels);
}

}  // namespace

TEST_CASE(
    "tables that are chosen by name count exactly, grow, and are built anew when a key finds no place") {
  for (const cpu::Kernels* kernels : cpu::available_kernels()) {
    CAPTURE(kernels->name);
    check_tables<Key64>(*kernels);
    check_tables<Key128>(*kernels);
  }
}

TEST_CASE("slabs of one crowded bucket: the table grows until all of them find room") {
  CheckedTable<Key64> table(CountTable::slab, cpu::best_kernels(), 100);
  for (Key64 key = 0; key < 2500; ++key) table.add(key, 1);
  table.check();
}

TEST_CASE("tables have names, and no others") {
  for (const auto* name : {"auto", "warpdrive", "slab", "bcht", "iceberg", "hashgraph"})
    CHECK(backend::name_of(backend::count_table_named(name)) == name);
  std::string names;
  for (const CountTable table : backend::kCountTables) {
    CHECK(backend::count_table_named(backend::name_of(table)) == table);
    names += std::string(names.empty() ? "" : "|") + std::string(backend::name_of(table));
  }
  CHECK(backend::count_table_names("|") == names);
  CHECK_THROWS_AS(backend::count_table_named("AUTO"), UsageError);
  CHECK_THROWS_AS(backend::count_table_named(""), UsageError);
}
