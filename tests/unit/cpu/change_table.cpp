// Tables of changes against a map, with keys that find no slot and changes that are wider than a slot.
// ctest: one thread

#include "cpu/live/change_table.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <vector>

#include "cpu/live/live_shards.h"
#include "tier.h"

using namespace warpmer;
using namespace warpmer::cpu;

namespace {

template <class Key>
void compare_with_map(backend::LiveScheme scheme, std::uint32_t k, std::size_t distinct, unsigned seed) {
  std::mt19937_64 random(seed);
  const auto table = make_change_table<Key>(best_kernels(), scheme, k);
  TableLists<Key> lists;
  std::map<Key, std::uint64_t> changes;
  std::vector<Key> keys;
  while (keys.size() < distinct) {
    // Half of them crowd where a table has few slots.
    const Key any = (Key{random()} << (sizeof(Key) == 8 ? 0 : 64 % (8 * sizeof(Key)))) | random();
    keys.push_back(any & key_mask<Key>(random() % 2 == 0 ? k : k - 4));
  }
  for (int round = 0; round < 60; ++round) {
    const std::size_t n = 1 + random() % 100;
    if (!table->has_room(n)) table->make_room(n);
    if (random() % 2 == 0) {
      std::vector<Key> added;
      std::vector<std::uint32_t> weights(n + 8, 2u);
      for (std::size_t i = 0; i < n; ++i) added.push_back(keys[random() % distinct]);
      added.resize(n + 8);
      if (random() % 4 == 0) std::fill(weights.begin(), weights.end(), 0xFFFFFFFEu);
      table->add({added.data(), weights.data(), n, 2}, lists);
      for (std::size_t i = 0; i < n; ++i) changes[added[i]] += weights[i];
    } else {
      for (std::size_t i = 0; i < n; ++i) {
        const Key key = keys[random() % distinct];
        const std::uint64_t now = whole_change(random() >> (2 + random() % 61));
        table->set(key, changes[key], now, lists);
        changes[key] = now;
      }
    }
    std::vector<std::uint32_t> low(distinct);
    std::vector<std::uint64_t> found(distinct);
    table->find(keys.data(), distinct, low.data(), found.data());
    for (std::size_t i = 0; i < distinct; ++i)
      REQUIRE(found[i] == (changes.contains(keys[i]) ? changes[keys[i]] : 0));
    std::vector<Key> listed(table->listed() + 8);
    std::vector<std::uint32_t> weights(listed.size());
    HashList<Key> list{listed.data(), weights.data(), 0, 0};
    Carries<Key> all;
    table->list(list, all);
    REQUIRE(list.size <= table->listed());
    for (std::size_t i = 0; i < list.size; ++i) all[listed[i]] += weights[i];
    std::erase_if(all, [](const auto& entry) { return entry.second == 0; });
    std::erase_if(changes, [](const auto& entry) { return entry.second == 0; });
    REQUIRE(all == changes);
  }
}

}  // namespace

TEST_CASE("a table of changes is a map") {
  for (const backend::LiveScheme scheme : {backend::LiveScheme::warpdrive, backend::LiveScheme::slab}) {
    for (const std::size_t distinct : {3, 40, 400}) {
      for (unsigned seed = 0; seed < tests::by_tier(40u, 5u); ++seed) {
        CAPTURE(static_cast<int>(scheme));
        CAPTURE(distinct);
        CAPTURE(seed);
        compare_with_map<Key64>(scheme, 13, distinct, seed);
        compare_with_map<Key64>(scheme, 31, distinct, seed);
        compare_with_map<Key128>(scheme, 33, distinct, seed);
        compare_with_map<Key128>(scheme, 63, distinct, seed);
      }
    }
  }
}
