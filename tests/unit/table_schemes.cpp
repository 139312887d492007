// One suite for every probing scheme on every tile.

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <thread>
#include <vector>

#include "tiles/tile_ops.h"

namespace {

using namespace warpmer;
using table::Insertion;
using table::kEmptyKey;
using table::Slots;
using tests::SchemeOnTile;

/// A table's memory, all slots empty.
template <class Key>
struct Memory {
  explicit Memory(std::size_t slots) : keys(slots, kEmptyKey<Key>), counts(slots, 0) {}
  Slots<Key> slots() { return {keys.data(), counts.data()}; }
  std::vector<Key> keys;
  std::vector<std::uint32_t> counts;
};

template <class Key>
Key random_key(std::mt19937_64& random, std::uint32_t bits) {
  Key key = random();
  if constexpr (sizeof(Key) == 16) key = (key << 64) | random();
  return bits >= kKeyBits<Key> ? key : key & ((Key{1} << bits) - 1);
}

template <class Key>
void tile_operations(const SchemeOnTile<Key>& on) {
  Memory<Key> memory(32);
  const auto all = static_cast<table::SlotMask>((std::uint64_t{1} << on.width) - 1);
  CHECK(on.empty(memory.slots()) == all);
  for (int i = 0; i < on.width; ++i) {
    CHECK(on.claim(memory.slots(), i, Key{100} + static_cast<Key>(i)) == table::Claim::won);
    CHECK(on.match(memory.slots(), Key{100} + static_cast<Key>(i)) == table::SlotMask{1} << i);
    CHECK(on.add(memory.slots(), i, 3) == 0);
    CHECK(on.add(memory.slots(), i, 4) == 3);
  }
  CHECK(on.empty(memory.slots()) == 0);
  CHECK(on.match(memory.slots(), 99) == 0);
  if (!on.exclusive) {
    CHECK(on.claim(memory.slots(), 0, 100) == table::Claim::same_key);
    CHECK(on.claim(memory.slots(), 0, 101) == table::Claim::lost);
  }
  const auto evicted = on.exchange(memory.slots(), 0, {Key{7}, 9u});
  CHECK(evicted.key == Key{100});
  CHECK(evicted.count == 7);
  CHECK(on.match(memory.slots(), 7) == 1);
  CHECK(memory.counts[0] == 9);
  // Several slots may match: the same key in all of them.
  Memory<Key> same(32);
  for (auto& key : same.keys) key = 5;
  CHECK(on.match(same.slots(), 5) == all);
}

/// Inserts until a load factor is reached; every key must be found with its count, no other key.
template <class Key>
void insert_and_find(const SchemeOnTile<Key>& on, std::uint32_t window_bits, std::uint32_t key_bits,
                     double load) {
  const std::size_t slots = static_cast<std::size_t>(on.width) << window_bits;
  Memory<Key> memory(slots);
  std::map<Key, std::uint32_t> expected;
  std::mt19937_64 random(window_bits * 100 + static_cast<unsigned>(on.width));
  const auto distinct = static_cast<std::size_t>(static_cast<double>(slots) * load);
  std::size_t refused = 0;
  for (std::size_t i = 0; i < 4 * distinct; ++i) {
    // Half of the operations meet a key that is there already.
    Key key = random_key<Key>(random, key_bits);
    if (!expected.empty() && random() % 2 == 0) {
      const auto there = expected.lower_bound(key);
      key = there == expected.end() ? expected.begin()->first : there->first;
    } else if (expected.size() >= distinct) {
      continue;
    }
    if (key == kEmptyKey<Key>) continue;
    const auto n = static_cast<std::uint32_t>(1 + random() % 5);
    const Insertion done = on.insert(memory.slots(), window_bits, key_bits, key, n);
    if (!done.placed) {
      ++refused;
      CHECK(expected.count(key) == 0);
      continue;
    }
    CHECK(done.is_new == (expected.count(key) == 0));
    CHECK(!done.wrapped);
    expected[key] += n;
  }
  CHECK(refused <= slots / 100);  // bounded probing may refuse a key in a nearly full table
  bool all_there = true;
  for (const auto& [key, count] : expected) {
    const auto slot = on.find(memory.slots(), window_bits, key_bits, key);
    all_there = all_there && slot >= 0 && memory.keys[static_cast<std::size_t>(slot)] == key &&
                memory.counts[static_cast<std::size_t>(slot)] == count;
  }
  CHECK(all_there);
  bool none_else = true;
  for (int i = 0; i < 1000; ++i) {
    const Key key = random_key<Key>(random, key_bits);
    if (key != kEmptyKey<Key> && expected.count(key) == 0)
      none_else = none_else && on.find(memory.slots(), window_bits, key_bits, key) < 0;
  }
  CHECK(none_else);
}

template <class Key>
void full_table(const SchemeOnTile<Key>& on) {
  // As many keys as slots, all with the same home: those that double hashing reaches find a place,
  // the others are refused at once; nothing hangs, nothing is overwritten.
  for (const std::uint32_t window_bits : {0u, 1u, 4u}) {
    const std::size_t slots = static_cast<std::size_t>(on.width) << window_bits;
    Memory<Key> memory(slots);
    std::size_t placed = 0;
    for (std::size_t i = 0; i < 2 * slots + 10; ++i)
      placed += on.insert(memory.slots(), window_bits, 40, static_cast<Key>(i), 1).placed ? 1 : 0;
    CHECK(placed == slots);
    std::size_t found = 0;
    for (std::size_t i = 0; i < 2 * slots + 10; ++i)
      found += on.find(memory.slots(), window_bits, 40, static_cast<Key>(i)) >= 0 ? 1 : 0;
    CHECK(found == slots);
    // A key that is there is still counted in a full table.
    const Insertion again = on.insert(memory.slots(), window_bits, 40, memory.keys[0], 5);
    CHECK(again.placed);
    CHECK(!again.is_new);
  }
}

template <class Key>
void wrapping(const SchemeOnTile<Key>& on) {
  Memory<Key> memory(static_cast<std::size_t>(on.width) << 2);
  CHECK(!on.insert(memory.slots(), 2, 40, 12, UINT32_MAX).wrapped);
  CHECK(on.insert(memory.slots(), 2, 40, 12, 1).wrapped);
  CHECK(!on.insert(memory.slots(), 2, 40, 12, 1).wrapped);
  CHECK(memory.counts[static_cast<std::size_t>(on.find(memory.slots(), 2, 40, 12))] == 1);
}

template <class Key>
void whole_suite(const SchemeOnTile<Key>& on) {
  CAPTURE(on.scheme);
  CAPTURE(on.tile);
  CAPTURE(on.width);
  tile_operations(on);
  for (const std::uint32_t window_bits : {0u, 1u, 5u, 9u}) {
    for (const double load : {0.4, 0.7}) insert_and_find(on, window_bits, 8 * sizeof(Key), load);
    insert_and_find(on, window_bits, 62, 0.7);
  }
  insert_and_find(on, 10, 40, 0.9);
  full_table(on);
  wrapping(on);
}

}  // namespace

TEST_CASE("64-bit keys: every scheme on every tile") {
  for (const auto& on : tests::all_schemes_64()) whole_suite(on);
}

TEST_CASE("128-bit keys: every scheme on every tile") {
  for (const auto& on : tests::all_schemes_128()) whole_suite(on);
}

TEST_CASE("tiles for shared tables: threads counting the same keys lose nothing") {
  for (const auto& on : tests::all_schemes_64()) {
    if (on.exclusive) continue;
    CAPTURE(on.width);
    constexpr std::uint32_t kWindowBits = 8, kThreads = 4, kRounds = 20;
    Memory<Key64> memory(static_cast<std::size_t>(on.width) << kWindowBits);
    const std::size_t distinct = memory.keys.size() / 2;
    const auto key_of = [](std::size_t i) { return Key64{i} * 0x9E3779B97F4A7C15u >> 2; };
    std::vector<std::size_t> fresh(kThreads);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint32_t round = 0; round < kRounds; ++round) {
          for (std::size_t i = 0; i < distinct; ++i)
            fresh[t] +=
                on.insert(memory.slots(), kWindowBits, 62, key_of((i + t * 7) % distinct), 1).is_new ? 1 : 0;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < distinct; ++i) {
      const auto slot = on.find(memory.slots(), kWindowBits, 62, key_of(i));
      wrong += slot < 0 || memory.counts[static_cast<std::size_t>(slot)] != kThreads * kRounds ? 1 : 0;
    }
    CHECK(wrong == 0);
    CHECK(fresh[0] + fresh[1] + fresh[2] + fresh[3] == distinct);
  }
}
