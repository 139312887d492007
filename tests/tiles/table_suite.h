#pragma once
/// One suite for every probing scheme on every tile, on CPUs and on GPUs.

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <vector>

#include "tiles/tile_ops.h"

namespace warpmer::tests {

/// What a test puts into a table, and what became of it.
template <class Key>
struct Insertions {
  std::vector<Key> keys;
  std::vector<std::uint32_t> n;
  std::vector<table::Insertion> done;

  void plan(Key key, std::uint32_t count = 1) {
    keys.push_back(key);
    n.push_back(count);
  }
  void run(typename SchemeOnTile<Key>::Insert insert, TableMemory<Key>& memory, TableShape shape) {
    done.resize(keys.size());
    insert(memory.slots(), shape, keys.data(), n.data(), keys.size(), done.data());
  }
  [[nodiscard]] std::size_t how_many(bool table::Insertion::*what) const {
    std::size_t sum = 0;
    for (const table::Insertion& one : done) sum += one.*what ? 1 : 0;
    return sum;
  }
};

template <class Key>
std::vector<std::ptrdiff_t> find_all(const SchemeOnTile<Key>& on, TableMemory<Key>& memory, TableShape shape,
                                     const std::vector<Key>& keys) {
  std::vector<std::ptrdiff_t> slots(keys.size());
  on.find(memory.slots(), shape, keys.data(), keys.size(), slots.data());
  return slots;
}

/// Every expected key is found, where it lies, with its count.
template <class Key>
void check_found(const SchemeOnTile<Key>& on, TableMemory<Key>& memory, TableShape shape,
                 const std::map<Key, std::uint32_t>& expected) {
  std::vector<Key> keys;
  keys.reserve(expected.size());
  for (const auto& [key, count] : expected) keys.push_back(key);
  const std::vector<std::ptrdiff_t> slots = find_all(on, memory, shape, keys);
  const std::vector<Key> in_slots = memory.keys();
  const std::vector<std::uint32_t> counts = memory.counts();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto slot = static_cast<std::size_t>(slots[i]);
    const bool right = slots[i] >= 0 && in_slots[slot] == keys[i] && counts[slot] == expected.at(keys[i]);
    wrong += right ? 0 : 1;
  }
  CHECK(wrong == 0);
  std::size_t filled = 0;
  for (const Key& key : in_slots) filled += key == table::kEmptyKey<Key> ? 0 : 1;
  CHECK(filled == expected.size());
}

template <class Key>
Key random_key(std::mt19937_64& random, std::uint32_t bits) {
  Key key = random();
  if constexpr (sizeof(Key) == 16) key = (key << 64) | random();
  return bits >= kKeyBits<Key> ? key : key & ((Key{1} << bits) - 1);
}

/// Many different keys that spread over a table's windows.
template <class Key>
Key spread_key(std::size_t i) {
  const Key64 bits = Key64{i} * 0x9E3779B97F4A7C15u;
  // Both halves matter, so that a key of which half was written would be noticed.
  if constexpr (sizeof(Key) == 16) return (Key{bits >> 2} << 64) | ~bits;
  return bits >> 2;
}
template <class Key>
constexpr std::uint32_t kSpreadKeyBits = kKeyBits<Key> - 2;

template <class Key>
void tile_operations(const SchemeOnTile<Key>& on) {
  const auto memory = on.memory(32);
  const auto all = static_cast<table::SlotMask>((std::uint64_t{1} << on.width) - 1);
  // Different in both halves.
  const auto key_of = [](int i) { return spread_key<Key>(static_cast<std::size_t>(i) + 100); };
  CHECK(on.empty(memory->slots()) == all);
  for (int i = 0; i < on.width; ++i) {
    CHECK(on.claim(memory->slots(), i, key_of(i)) == table::Claim::won);
    CHECK(on.match(memory->slots(), key_of(i)) == table::SlotMask{1} << i);
    CHECK(on.add(memory->slots(), i, 3) == 0);
    CHECK(on.add(memory->slots(), i, 4) == 3);
  }
  CHECK(on.empty(memory->slots()) == 0);
  CHECK(on.match(memory->slots(), 99) == 0);
  if (!on.exclusive) {
    CHECK(on.claim(memory->slots(), 0, key_of(0)) == table::Claim::same_key);
    CHECK(on.claim(memory->slots(), 0, key_of(1)) == table::Claim::lost);
  }
  for (const int slot : {0, on.width - 1}) {
    const auto evicted = on.exchange(memory->slots(), slot, {Key{7}, 9u});
    CHECK(evicted.key == key_of(slot));
    CHECK(evicted.count == 7);
    CHECK(on.match(memory->slots(), 7) == table::SlotMask{1} << slot);
    CHECK(memory->counts()[static_cast<std::size_t>(slot)] == 9);
    on.exchange(memory->slots(), slot, {key_of(slot), 7u});
  }
  // Several slots may match: the same key in all of them.
  const auto same = on.memory(32);
  same->fill(5);
  CHECK(on.match(same->slots(), 5) == all);
}

/// Inserts until a load factor is reached; every key must be found with its count, no other key.
template <class Key>
void insert_and_find(const SchemeOnTile<Key>& on, TableShape shape, double load) {
  const std::size_t slots = static_cast<std::size_t>(on.width) << shape.window_bits;
  if (slots > on.most_slots) return;
  const auto memory = on.memory(slots);
  std::mt19937_64 random(shape.window_bits * 100 + static_cast<unsigned>(on.width));
  const auto distinct = static_cast<std::size_t>(static_cast<double>(slots) * load);
  Insertions<Key> insertions;
  std::map<Key, std::uint32_t> planned;
  for (std::size_t i = 0; i < 4 * distinct; ++i) {
    // Half of the operations meet a key that is there already.
    Key key = random_key<Key>(random, shape.key_bits);
    if (!planned.empty() && random() % 2 == 0) {
      const auto there = planned.lower_bound(key);
      key = there == planned.end() ? planned.begin()->first : there->first;
    } else if (planned.size() >= distinct) {
      continue;
    }
    if (key == table::kEmptyKey<Key>) continue;
    planned[key] = 0;
    insertions.plan(key, static_cast<std::uint32_t>(1 + random() % 5));
  }
  insertions.run(on.insert, *memory, shape);
  std::map<Key, std::uint32_t> expected;
  std::size_t wrong = 0, refused = 0;
  for (std::size_t i = 0; i < insertions.keys.size(); ++i) {
    const Key key = insertions.keys[i];
    const table::Insertion done = insertions.done[i];
    refused += done.placed ? 0 : 1;
    // A key that is there is never refused.
    if (done.placed ? done.is_new != (expected.count(key) == 0) || done.wrapped : expected.count(key) != 0)
      ++wrong;
    if (done.placed) expected[key] += insertions.n[i];
  }
  CHECK(wrong == 0);
  CHECK(refused <= slots / 100);  // bounded probing may refuse a key in a nearly full table
  check_found(on, *memory, shape, expected);
  std::vector<Key> others;
  for (int i = 0; i < 1000; ++i) {
    const Key key = random_key<Key>(random, shape.key_bits);
    if (key != table::kEmptyKey<Key> && expected.count(key) == 0) others.push_back(key);
  }
  for (const std::ptrdiff_t slot : find_all(on, *memory, shape, others)) wrong += slot >= 0 ? 1 : 0;
  CHECK(wrong == 0);
}

/// Twice as many keys as slots, all with the same home (or, at once, spread): as many find a place as
/// there are slots, the others are refused; nothing hangs, nothing is overwritten.
template <class Key>
void full_table(const SchemeOnTile<Key>& on, bool at_once) {
  for (const std::uint32_t window_bits : {0u, 1u, 4u, 6u}) {
    const TableShape shape{window_bits, at_once ? kSpreadKeyBits<Key> : 40};
    const std::size_t slots = static_cast<std::size_t>(on.width) << window_bits;
    if (slots > on.most_slots) continue;
    const auto memory = on.memory(slots);
    Insertions<Key> insertions;
    for (std::size_t i = 0; i < 2 * slots + 10; ++i)
      insertions.plan(at_once ? spread_key<Key>(i + 1) : static_cast<Key>(i));
    insertions.run(at_once ? on.insert_at_once : on.insert, *memory, shape);
    CHECK(insertions.how_many(&table::Insertion::placed) == slots);
    CHECK(insertions.how_many(&table::Insertion::is_new) == slots);
    std::map<Key, std::uint32_t> expected;
    for (std::size_t i = 0; i < insertions.keys.size(); ++i) {
      if (insertions.done[i].placed) expected[insertions.keys[i]] = 1;
    }
    check_found(on, *memory, shape, expected);
    std::size_t found = 0;
    for (const std::ptrdiff_t slot : find_all(on, *memory, shape, insertions.keys))
      found += slot >= 0 ? 1 : 0;
    CHECK(found == slots);
    // A key that is there is still counted in a full table.
    Insertions<Key> again;
    again.plan(expected.begin()->first, 5);
    again.run(on.insert, *memory, shape);
    CHECK(again.done[0].placed);
    CHECK(!again.done[0].is_new);
  }
}

template <class Key>
void wrapping(const SchemeOnTile<Key>& on) {
  const TableShape shape{2, 40};
  const auto memory = on.memory(static_cast<std::size_t>(on.width) << shape.window_bits);
  Insertions<Key> insertions;
  for (const std::uint32_t n : {UINT32_MAX, 1u, 1u}) insertions.plan(12, n);
  insertions.run(on.insert, *memory, shape);
  CHECK(!insertions.done[0].wrapped);
  CHECK(insertions.done[1].wrapped);
  CHECK(!insertions.done[2].wrapped);
  check_found(on, *memory, shape, {{Key{12}, 1u}});
}

/// What one tile at a time must do.
template <class Key>
void whole_suite(const SchemeOnTile<Key>& on) {
  CAPTURE(on.scheme);
  CAPTURE(on.tile);
  CAPTURE(on.width);
  tile_operations(on);
  for (const std::uint32_t window_bits : {0u, 1u, 5u, 9u}) {
    for (const double load : {0.4, 0.7}) insert_and_find(on, {window_bits, kKeyBits<Key>}, load);
    insert_and_find(on, {window_bits, 62}, 0.7);
  }
  insert_and_find(on, {10, 40}, 0.9);
  full_table(on, false);
  wrapping(on);
}

/// Keys that come again and again, a few of them far more often: each is new once, and no count is lost.
template <class Key>
void count_at_once(const SchemeOnTile<Key>& on, std::uint32_t window_bits, std::size_t rounds) {
  const TableShape shape{window_bits, kSpreadKeyBits<Key>};
  const std::size_t slots = static_cast<std::size_t>(on.width) << window_bits;
  if (slots > on.most_slots) return;
  const auto memory = on.memory(slots);
  const std::size_t distinct = (slots + 1) / 2;
  Insertions<Key> insertions;
  std::map<Key, std::uint32_t> expected;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < distinct; ++i) {
      const bool hot = i % 4 == 3;
      const Key key = spread_key<Key>(hot ? round % 3 % distinct : (i + 7 * round) % distinct);
      insertions.plan(key, static_cast<std::uint32_t>(1 + i % 3));
      expected[key] += insertions.n.back();
    }
  }
  insertions.run(on.insert_at_once, *memory, shape);
  CHECK(insertions.how_many(&table::Insertion::placed) == insertions.keys.size());
  CHECK(insertions.how_many(&table::Insertion::is_new) == expected.size());
  CHECK(insertions.how_many(&table::Insertion::wrapped) == 0);
  check_found(on, *memory, shape, expected);
}

/// All tiles want the same slot, and its count passes 2^32 several times.
template <class Key>
void one_key_at_once(const SchemeOnTile<Key>& on) {
  const TableShape shape{1, kSpreadKeyBits<Key>};
  const auto memory = on.memory(static_cast<std::size_t>(on.width) << shape.window_bits);
  constexpr std::size_t kTimes = 20000;
  constexpr std::uint32_t kEach = 1000003;
  Insertions<Key> insertions;
  for (std::size_t i = 0; i < kTimes; ++i) insertions.plan(spread_key<Key>(5), kEach);
  insertions.run(on.insert_at_once, *memory, shape);
  CHECK(insertions.how_many(&table::Insertion::placed) == kTimes);
  CHECK(insertions.how_many(&table::Insertion::is_new) == 1);
  CHECK(insertions.how_many(&table::Insertion::wrapped) == (kTimes * kEach) >> 32);
  check_found(on, *memory, shape, {{spread_key<Key>(5), static_cast<std::uint32_t>(kTimes * kEach)}});
}

/// All tiles want the same window, and neighbours want it for the same key, until the last slot is taken.
template <class Key>
void claim_at_once(const SchemeOnTile<Key>& on) {
  const TableShape shape{6, 40};
  const std::size_t slots = static_cast<std::size_t>(on.width) << shape.window_bits;
  if (slots > on.most_slots) return;
  constexpr std::uint32_t kTogether = 4;
  const auto memory = on.memory(slots);
  Insertions<Key> insertions;
  std::map<Key, std::uint32_t> expected;
  for (std::size_t i = 0; i < slots; ++i) {
    for (std::uint32_t j = 0; j < kTogether; ++j) insertions.plan(static_cast<Key>(i));
    expected[static_cast<Key>(i)] = kTogether;
  }
  insertions.run(on.insert_at_once, *memory, shape);
  CHECK(insertions.how_many(&table::Insertion::placed) == insertions.keys.size());
  CHECK(insertions.how_many(&table::Insertion::is_new) == slots);
  check_found(on, *memory, shape, expected);
}

/// What many tiles must do side by side.
template <class Key>
void whole_suite_at_once(const SchemeOnTile<Key>& on, std::size_t rounds) {
  if (on.exclusive) return;
  CAPTURE(on.scheme);
  CAPTURE(on.tile);
  CAPTURE(on.width);
  for (const std::uint32_t window_bits : {0u, 3u, 5u, 8u}) count_at_once(on, window_bits, rounds);
  one_key_at_once(on);
  for (int i = 0; i < 10; ++i) claim_at_once(on);
  full_table(on, true);
}

}  // namespace warpmer::tests
