// The live table of a shard against a map: counts of any size, keys that crowd one bucket.
// ctest: one thread

#include "cpu/shard_table.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

using namespace warpmer;

namespace {

template <class Key>
void check_harvest(cpu::ShardTable<Key>& table, const std::map<Key, std::uint64_t>& expected) {
  table.harvest();
  REQUIRE(table.size() == expected.size());
  std::size_t i = 0, wrong = 0;
  for (const auto& [key, count] : expected) {
    wrong += table.keys()[i] == key && table.counts()[i] == count ? 0 : 1;
    ++i;
  }
  CHECK(wrong == 0);
}

/// Adds and removes at random. `key_of` makes a key of a number; `most` is the largest that is added at once.
template <class Key, class KeyOf>
void add_and_remove(std::uint32_t k, std::uint64_t distinct, std::uint64_t most, const KeyOf& key_of) {
  cpu::ShardTable<Key> table(k);
  std::mt19937_64 random(k + distinct);
  for (int round = 0; round < 3; ++round) {
    table.reset(distinct);
    std::map<Key, std::uint64_t> expected;
    std::size_t wrong = 0;
    for (std::uint64_t i = 0; i < 6 * distinct; ++i) {
      const Key key = key_of(random() % distinct);
      const std::uint64_t n = random() % most + 1;
      if (random() % 2 == 0) {
        table.add(key, n);
        expected[key] += n;
        continue;
      }
      const auto there = expected.find(key);
      const std::uint64_t had = there == expected.end() ? 0 : there->second;
      const auto done = table.remove(key, n);
      wrong += done.missing == (n > had ? n - had : 0) && (done.missing == 0 || done.there == had) ? 0 : 1;
      if (had > n) {
        there->second -= n;
      } else {
        expected.erase(key);
      }
    }
    CHECK(wrong == 0);
    check_harvest(table, expected);
    if (round == 1) table.trim(0);
  }
}

constexpr std::uint64_t kSmall = 4, kLarge = std::uint64_t{3} << 31, kHuge = std::uint64_t{1} << 50;

}  // namespace

TEST_CASE("shard table: counts go up and down, and come out in order") {
  for (const std::uint64_t most : {kSmall, kLarge, kHuge}) {
    for (const std::uint64_t distinct : {1u, 10u, 500u, 20000u}) {
      const std::uint64_t step64 = ~std::uint64_t{0} / distinct, step26 = (std::uint64_t{1} << 26) / distinct;
      add_and_remove<Key64>(32, distinct, most, [&](std::uint64_t i) { return i * step64; });
      add_and_remove<Key64>(13, distinct, most, [&](std::uint64_t i) { return i * step26; });
      add_and_remove<Key128>(64, distinct, most,
                             [&](std::uint64_t i) { return Key128{i * step64} << 64 | i; });
      add_and_remove<Key128>(33, distinct, most, [&](std::uint64_t i) { return Key128{i * step64} << 2; });
    }
  }
}

TEST_CASE("shard table: keys that all fall into one bucket") {
  add_and_remove<Key64>(31, 3000, kSmall, [](std::uint64_t i) { return i; });
  for (const std::uint64_t most : {kSmall, kLarge}) {
    // One of them is what a table takes for no key.
    add_and_remove<Key64>(32, 3000, most, [](std::uint64_t i) { return ~Key64{0} - i; });
    add_and_remove<Key128>(64, 3000, most, [](std::uint64_t i) { return ~Key128{0} - i; });
  }
}

TEST_CASE("shard table: counts on either side of 32 bits") {
  cpu::ShardTable<Key64> table(31);
  table.reset(2);
  const std::uint64_t edge = std::uint64_t{1} << 32;
  table.add(7, edge - 1);
  table.add(7, 1);
  check_harvest<Key64>(table, {{7, edge}});
  CHECK(table.remove(7, 1).missing == 0);
  check_harvest<Key64>(table, {{7, edge - 1}});
  table.add(9, 5 * edge);
  table.add(7, 1);
  CHECK(table.remove(7, edge + 3).missing == 3);
  CHECK(table.remove(9, edge).missing == 0);
  check_harvest<Key64>(table, {{9, 4 * edge}});
  CHECK(table.remove(7, 1).there == 0);
  CHECK(table.remove(9, 4 * edge).missing == 0);
  check_harvest<Key64>(table, {});
}
