// Many builds of the same keys with different seeds: how often they succeed, against what the paper reports,
// and that small tables, in which a key's buckets are often the same one, lose nothing.
// ctest: release only

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "table/cuckoo.h"
#include "table/iceberg.h"
#include "table/rebuild.h"

using namespace warpmer;

namespace {

template <int Width>
using Tile = table::SerialTile<Key64, Width>;

template <class Scheme>
struct Built {
  Built(std::uint32_t buckets, std::uint32_t seed)
      : keys(Scheme::slots_for(buckets), table::kEmptyKey<Key64>),
        counts(keys.size(), 0),
        scheme({keys.data(), counts.data()}, buckets, seed) {}
  std::vector<Key64> keys;
  std::vector<std::uint32_t> counts;
  Scheme scheme;
};

template <class T, int Hashes, table::Eviction kEviction>
bool place(const table::Cuckoo<T, Hashes, kEviction>& scheme, Key64 key) {
  return scheme.insert_distinct({}, key, 1).insertion.placed;
}
template <class T, int ThresholdPercent>
bool place(const table::Iceberg<T, ThresholdPercent>& scheme, Key64 key) {
  return scheme.insert({}, key, 1).placed;
}

/// Returns how many of 200 builds, as in Awad et al. 2023, section 7.3, place all keys in their buckets: the
/// paper's tables have no stash.
template <class Scheme>
int successes(double load) {
  constexpr std::uint32_t kSlots = 1u << 13, kBuckets = kSlots / Scheme::kBucket;
  int successes = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    Built<Scheme> built(kBuckets, seed);
    std::size_t overflow = 0;
    for (Key64 key = 0; key < static_cast<Key64>(kSlots * load); ++key)
      overflow += place(built.scheme, key) ? 0 : 1;
    CHECK(overflow == 0);  // there is a stash for the few
    const bool stash_is_empty = std::all_of(built.keys.end() - table::kStashSlots, built.keys.end(),
                                            [](Key64 key) { return key == table::kEmptyKey<Key64>; });
    successes += stash_is_empty ? 1 : 0;
  }
  return successes;
}

/// One, two, ... buckets, almost full: every key is found, whatever the seed.
template <class Scheme>
void fill_small_tables() {
  std::size_t wrong = 0;
  for (std::uint32_t buckets = 1; buckets <= 9; ++buckets) {
    for (std::uint32_t seed = 0; seed < 500; ++seed) {
      Built<Scheme> built(buckets, seed);
      const Key64 keys = buckets * Scheme::kBucket;
      for (Key64 key = 0; key < keys; ++key) {
        wrong += place(built.scheme, key) ? 0 : 1;
        // Those that were there may have moved.
        for (Key64 there = 0; there <= key; ++there) wrong += built.scheme.find({}, there) >= 0 ? 0 : 1;
      }
      wrong += built.scheme.find({}, keys) < 0 ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("builds: as many succeed as in Awad et al. 2023, section 7.3") {
  CHECK(successes<table::Cuckoo<Tile<16>, 3>>(0.98) >= 198);
  CHECK(successes<table::Cuckoo<Tile<1>, 4>>(0.88) >= 198);
  CHECK(successes<table::Iceberg<Tile<32>>>(0.91) >= 198);
  CHECK(successes<table::Iceberg<Tile<16>>>(0.82) >= 198);
  // The paper gives none for two functions and eight slots.
  CHECK(successes<table::Cuckoo<Tile<8>, 2>>(0.95) >= 198);
  CHECK(successes<table::Cuckoo<Tile<8>, 3, table::Eviction::last>>(0.97) >= 198);
  // This is the purpose of a stash.
  CHECK(successes<table::Cuckoo<Tile<16>, 3>>(0.998) < 100);
}

TEST_CASE("builds: small tables lose nothing") {
  fill_small_tables<table::Cuckoo<Tile<1>, 4>>();
  fill_small_tables<table::Cuckoo<Tile<1>, 3>>();
  fill_small_tables<table::Cuckoo<Tile<2>, 2>>();
  fill_small_tables<table::Cuckoo<Tile<1>, 3, table::Eviction::last>>();
  fill_small_tables<table::Cuckoo<Tile<2>, 2, table::Eviction::last>>();
  fill_small_tables<table::Iceberg<Tile<4>>>();
}

TEST_CASE("builds: seeds are tried until one builds, and no longer") {
  std::vector<std::uint32_t> tried;
  const auto third = [&](std::uint32_t seed) {
    tried.push_back(seed);
    return tried.size() == 3;
  };
  CHECK(table::first_seed_that_builds(7, 10, third) == 9u);
  CHECK(tried == std::vector<std::uint32_t>{7, 8, 9});
  CHECK(!table::first_seed_that_builds(7, 4, [](std::uint32_t) { return false; }).has_value());
}
