// How many buckets an operation looks at, against what the papers report. Averages over all keys of a table.
// ctest: release only

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "bench/tables/tile_probe_counting.h"
#include "table/cuckoo.h"
#include "table/iceberg.h"
#include "table/warpdrive.h"

using namespace warpmer;

namespace {

constexpr std::uint32_t kSlots = 1u << 18;

template <int Width>
using Tile = bench::ProbeCountingTile<table::SerialTile<Key64, Width>>;

struct Probes {
  double insert, find, find_absent;  ///< per key
};

/// Random keys; even ones go in, odd ones do not.
Key64 key_number(std::size_t i) { return table::HashFamily<Key64>(77).mix(i) >> 1; }

struct Memory {
  explicit Memory(std::size_t slots) : keys(slots, table::kEmptyKey<Key64>), counts(slots, 0) {}
  table::Slots<Key64> slots() { return {keys.data(), counts.data()}; }
  [[nodiscard]] bool stash_is_empty() const {
    return std::all_of(keys.end() - table::kStashSlots, keys.end(),
                       [](Key64 key) { return key == table::kEmptyKey<Key64>; });
  }
  std::vector<Key64> keys;
  std::vector<std::uint32_t> counts;
};

/// Fills a table of kSlots slots to `load`, and looks up as many keys that are there as keys that are not.
/// `insert`(scheme, tile, key) says whether the key has a place; all of them do.
template <class Scheme, int Width, class Insert>
Probes measure(double load, Insert&& insert) {
  Memory memory(Scheme::slots_for(kSlots / Width));
  const Scheme scheme(memory.slots(), kSlots / Width, 1);
  const auto keys = static_cast<std::size_t>(kSlots * load);
  const auto per_key = [&](const Tile<Width>& tile) {
    return static_cast<double>(tile.probes()) / static_cast<double>(keys);
  };
  const Tile<Width> building, finding, missing;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < keys; ++i) wrong += insert(scheme, building, key_number(2 * i)) ? 0 : 1;
  // The paper's tables have no stash, and it must not have been needed.
  CHECK(memory.stash_is_empty());
  const Scheme finished = scheme.without_stash();
  for (std::size_t i = 0; i < keys; ++i) {
    wrong += finished.find(finding, key_number(2 * i)) >= 0 ? 0 : 1;
    wrong += finished.find(missing, key_number(2 * i + 1)) < 0 ? 0 : 1;
  }
  CHECK(wrong == 0);
  return {per_key(building), per_key(finding), per_key(missing)};
}

template <int Width, int Hashes>
Probes cuckoo(double load) {
  using Scheme = table::Cuckoo<Tile<Width>, Hashes>;
  return measure<Scheme, Width>(load, [](const Scheme& scheme, const Tile<Width>& tile, Key64 key) {
    return scheme.insert_distinct(tile, key, 1).insertion.placed;
  });
}

template <int Width, int ThresholdPercent>
Probes iceberg(double load) {
  using Scheme = table::Iceberg<Tile<Width>, ThresholdPercent>;
  return measure<Scheme, Width>(load, [](const Scheme& scheme, const Tile<Width>& tile, Key64 key) {
    return scheme.insert(tile, key, 1).placed;
  });
}

/// Equal but for the last digit that the paper gives.
bool near(double ours, double papers) { return ours > papers - 0.015 && ours < papers + 0.015; }

}  // namespace

TEST_CASE("probes: BCHT as in Awad et al. 2023, section 7.4") {
  const Probes full = cuckoo<16, 3>(0.99);
  CHECK(near(full.insert, 1.43));
  CHECK(near(full.find, 1.39));
  CHECK(near(full.find_absent, 2.80));
}

TEST_CASE("probes: 1CHT as in Awad et al. 2023, section 7.4") {
  const Probes full = cuckoo<1, 4>(0.9);
  CHECK(near(full.insert, 2.75));
  CHECK(near(full.find, 2.26));
  CHECK(near(full.find_absent, 3.44));
}

TEST_CASE("probes: iceberg as in Awad et al. 2023, section 7.1.2 and 7.4") {
  const Probes narrow = iceberg<16, 80>(0.86);
  CHECK(near(narrow.insert, 1.49));
  CHECK(near(narrow.find, 1.33));
  // 60 %: 9 of 16 slots.
  CHECK(near(iceberg<16, 60>(0.86).insert, 1.89));
  CHECK(near(iceberg<16, 60>(0.86).find, 1.6));
  const Probes wide = iceberg<32, 80>(0.92);
  CHECK(near(wide.insert, 1.46));
  CHECK(near(wide.find, 1.32));
  CHECK(near(wide.find_absent, 3.0));
}

TEST_CASE("probes: a stash that holds keys is looked into") {
  // Half as many keys again as a bucket has slots: the rest is in the stash.
  using Scheme = table::Cuckoo<table::SerialTile<Key64, 16>, 3>;
  Memory memory(Scheme::slots_for(1));
  const Scheme scheme(memory.slots(), 1, 1);
  CHECK(memory.stash_is_empty());
  for (Key64 key = 0; key < 24; ++key) CHECK(scheme.insert({}, key, 1).insertion.placed);
  CHECK(!memory.stash_is_empty());
  int found = 0, found_without = 0;
  for (Key64 key = 0; key < 24; ++key) {
    found += scheme.find({}, key) >= 0 ? 1 : 0;
    found_without += scheme.without_stash().find({}, key) >= 0 ? 1 : 0;
  }
  CHECK(found == 24);
  CHECK(found_without == 16);
}
