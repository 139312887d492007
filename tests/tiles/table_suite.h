#pragma once
/// One suite for every probing scheme on every tile, on CPUs and on GPUs.

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <vector>

#include "table/rebuild.h"
#include "tier.h"
#include "tiles/erase_suite.h"
#include "tiles/table_ledger.h"
#include "tiles/tile_ops.h"

namespace warpmer::tests {

template <class Key>
void tile_operations(const SchemeOnTile<Key>& on) {
  const auto memory = on.plain_memory(32);
  const table::Slots<Key> slots = memory->slots();
  const auto all = static_cast<table::SlotMask>((std::uint64_t{1} << on.width) - 1);
  constexpr Key kEmpty = table::kEmptyKey<Key>;
  // Keys are different in both halves.
  const auto key_of = [](int i) { return spread_key<Key>(static_cast<std::size_t>(i) + 100); };
  CHECK(on.empty(slots) == all);
  for (int i = 0; i < on.width; ++i) {
    CHECK(on.claim(slots, i, key_of(i), kEmpty) == table::Claim::won);
    CHECK(on.match(slots, key_of(i)) == table::SlotMask{1} << i);
    CHECK(on.add(slots, i, 3) == 0);
    CHECK(on.add(slots, i, 4) == 3);
    CHECK(on.count(slots, i) == 7);
    if (!on.is_slab_tile) continue;
    CHECK(on.count_now(slots, i) == 7);
    CHECK(on.key_in(slots, i) == key_of(i));
    // The bit that tells a key from one that differs there is looked at, or not.
    const Key bit = Key{1} << (7 * i % static_cast<int>(kKeyBits<Key>)), other = key_of(i) ^ bit;
    CHECK(on.match_part(slots, other, ~bit) == table::SlotMask{1} << i);
    CHECK(on.match_part(slots, other, ~Key{0}) == 0);
    CHECK((on.match_part(slots, key_of(i), bit) >> i & 1) == 1);
    CHECK((on.match_part(slots, other, bit) >> i & 1) == 0);
  }
  CHECK(on.empty(slots) == 0);
  CHECK(on.match(slots, 99) == 0);
  if (!on.exclusive) {
    CHECK(on.claim(slots, 0, key_of(0), kEmpty) == table::Claim::same_key);
    CHECK(on.claim(slots, 0, key_of(1), kEmpty) == table::Claim::lost);
    CHECK(on.claim(slots, 0, key_of(1), key_of(2)) == table::Claim::lost);
    CHECK(on.match(slots, key_of(0)) == 1);
  }
  for (const int slot : {0, on.width - 1}) {
    const auto evicted = on.exchange(slots, slot, {Key{7}, 9u});
    CHECK(evicted.key == key_of(slot));
    CHECK(evicted.count == 7);
    CHECK(on.match(slots, 7) == table::SlotMask{1} << slot);
    CHECK(memory->read()[static_cast<std::size_t>(slot)].count == 9);
    CHECK(on.count(slots, slot) == 9);
    if (on.is_slab_tile) CHECK(on.count_now(slots, slot) == 9);
    CHECK(on.exchange_key(slots, slot, spread_key<Key>(1)) == 7);
    CHECK(on.match(slots, spread_key<Key>(1)) == table::SlotMask{1} << slot);
    CHECK(memory->read()[static_cast<std::size_t>(slot)].count == 9);
    CHECK(on.count(slots, slot) == 9);
    on.store(slots, slot, 11);
    CHECK(on.claim(slots, slot, key_of(slot), spread_key<Key>(1)) == table::Claim::won);
    CHECK(on.match(slots, key_of(slot)) == table::SlotMask{1} << slot);
    CHECK(on.add(slots, slot, 1) == 11);
    on.store(slots, slot, 7);
  }
  // Several slots may match if the same key is in all of them.
  const auto same = on.plain_memory(32);
  same->fill(5);
  CHECK(on.match(same->slots(), 5) == all);
}

/// Inserts until a load factor is reached; every key must be found with its count, and no other key.
template <class Key>
void insert_and_find(const SchemeOnTile<Key>& on, TableShape shape, double load) {
  if (!fits(on, shape)) return;
  Table<Key> table(on, shape);
  std::mt19937_64 random(shape.bucket_bits * 100 + static_cast<unsigned>(on.width));
  const auto distinct = static_cast<std::size_t>(static_cast<double>(table.bucket_slots()) * load);
  Ledger<Key> ledger;
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
    if (is_reserved(key)) continue;
    planned[key] = 0;
    ledger.plan(key, static_cast<std::uint32_t>(1 + random() % 5));
  }
  table.run(Operation::insert, ledger);
  // A key that is there is never refused; if nothing was, it is new when it comes first.
  std::size_t wrong = 0;
  const std::size_t refused = ledger.refused();
  for (std::size_t i = 0; i < ledger.keys.size(); ++i) {
    const Done<Key>& done = ledger.done[i];
    if (done.wrapped || (refused == 0 && done.is_new != (planned[ledger.keys[i]] == 0))) ++wrong;
    planned[ledger.keys[i]] += 1;
  }
  CHECK(wrong == 0);
  if (load <= on.scheme.sure_load && on.scheme.stash != 0) {
    CHECK(refused == 0);
  } else {
    CHECK(refused <= table.bucket_slots() / 100);  // bounded probing may refuse a key in a nearly full table
  }
  table.check_inserted(ledger);
  std::vector<Key> others;
  for (int i = 0; i < 1000; ++i) {
    const Key key = random_key<Key>(random, shape.key_bits);
    if (!is_reserved(key) && planned.count(key) == 0) others.push_back(key);
  }
  CHECK(table.how_many_found(others) == 0);
}

/// Inserts distinct keys up to a high load: up to the load that a scheme promises, all of them find a place
/// in buckets; beyond it, none gets lost.
template <class Key>
void load_factors(const SchemeOnTile<Key>& on, bool at_once) {
  TableShape shape{5, kSpreadKeyBits<Key>};
  while (fits(on, {shape.bucket_bits + 1, shape.key_bits}) && on.slots(shape) < by_tier(1u << 14, 1u << 12))
    ++shape.bucket_bits;
  for (const double load : by_tier<std::vector<double>>({0.8, 0.88, 0.9, 0.98}, {0.8, 0.98})) {
    CAPTURE(load);
    Table<Key> table(on, shape);
    Ledger<Key> ledger;
    const auto keys = static_cast<std::size_t>(static_cast<double>(table.bucket_slots()) * load);
    for (std::size_t i = 0; i < keys; ++i) ledger.plan(spread_key<Key>(i + 1), 3);
    table.run(Operation::insert, ledger, at_once);
    if (load <= on.scheme.sure_load) CHECK(ledger.refused() <= (on.scheme.stash != 0 ? 0 : keys / 100));
    table.check_inserted(ledger, at_once);
  }
}

/// Inserts twice as many keys as slots, for ordered windows all with the same home (or, at once, spread):
/// keys that find a place stay, the others are refused; nothing hangs, and nothing is overwritten.
template <class Key>
void full_table(const SchemeOnTile<Key>& on, bool at_once) {
  for (const std::uint32_t bucket_bits : by_tier<std::vector<std::uint32_t>>({0, 1, 4, 6}, {0, 4})) {
    const TableShape shape{bucket_bits, at_once ? kSpreadKeyBits<Key> : key_bits<Key>(40)};
    if (!fits(on, shape)) continue;
    Table<Key> table(on, shape);
    Ledger<Key> ledger;
    for (std::size_t i = 0; i < 2 * table.slots() + 10; ++i)
      ledger.plan(at_once ? spread_key<Key>(i + 1) : static_cast<Key>(i));
    table.run(Operation::insert, ledger, at_once);
    const auto expected = ledger.expected();
    if (on.scheme.fills_up) {
      CHECK(ledger.how_many(&Done<Key>::is_new) == table.slots());
      CHECK(expected.size() == table.slots());
    } else {
      // With chains, some keys may be refused while other tiles hold slabs for a moment.
      CHECK(expected.size() >= table.slots() / 20 * (on.scheme.chains && at_once ? 15 : 18));
    }
    table.check_inserted(ledger, at_once);
    CHECK(table.how_many_found(ledger.keys) == expected.size());
    // A key that is there is still counted in a full table.
    Ledger<Key> again;
    again.plan(expected.begin()->first, 5);
    table.run(Operation::insert, again);
    CHECK(again.done[0].placed);
    CHECK(!again.done[0].is_new);
  }
}

template <class Key>
void wrapping(const SchemeOnTile<Key>& on) {
  Table<Key> table(on, {2, key_bits<Key>(40)});
  Ledger<Key> ledger;
  // If a count of 0 means that a key is not there, the count must not be 0 in between.
  for (const std::uint32_t n : {UINT32_MAX, on.scheme.chains ? 2u : 1u, 1u}) ledger.plan(12, n);
  table.run(Operation::insert, ledger);
  CHECK(!ledger.done[0].wrapped);
  CHECK(ledger.done[1].wrapped);
  CHECK(!ledger.done[2].wrapped);
  table.check_inserted(ledger);
}

/// Inserts keys that may all take only the same slots: as many as there are slots find a place, and the
/// others are refused. With another seed, and in a larger table if slots are too few, both present and
/// refused keys find a place.
template <class Key>
void start_again(const SchemeOnTile<Key>& on) {
  TableShape shape{3, key_bits<Key>(40), 1, 1};
  if (!on.scheme.seeded || !fits(on, shape)) return;
  const std::size_t reach = on.reach(shape, Key{0});
  const std::uint64_t address = on.address(shape, Key{0});
  Ledger<Key> ledger;
  for (Key key = 0; ledger.keys.size() < reach + 20; ++key) {
    if (on.address(shape, key) == address) ledger.plan(key, static_cast<std::uint32_t>(key % 7) + 1);
  }
  Table<Key> failed(on, shape);
  failed.run(Operation::insert, ledger);
  CHECK(ledger.expected().size() == reach);
  CHECK(ledger.refused() == 20);
  failed.check_inserted(ledger);

  while (on.slots(shape) < 2 * ledger.keys.size()) ++shape.bucket_bits;
  if (!fits(on, shape)) return;
  const auto seed = table::first_seed_that_builds(shape.seed, 5, [&](std::uint32_t one) {
    shape.seed = one;
    Table<Key> again(on, shape);
    Ledger<Key> moved;
    for (const table::Slot<Key>& entry : failed.entries()) moved.plan(entry.key, entry.count);
    moved.plan_overflow_of(ledger);
    again.run(Operation::insert, moved);
    if (moved.refused() != 0) return false;
    CHECK(moved.expected().size() == ledger.keys.size());
    again.check_inserted(moved);
    return true;
  });
  CHECK(seed.has_value());
  if (on.scheme.stash == 0 && !on.scheme.chains)
    CHECK(seed.value_or(1) > 1);  // the first seed cannot suffice
}

/// Tests the work of one tile at a time.
template <class Key>
void whole_suite(const SchemeOnTile<Key>& on) {
  INFO(name_of(on));
  tile_operations(on);
  for (const std::uint32_t bucket_bits : by_tier<std::vector<std::uint32_t>>({0, 1, 5, 9}, {0, 5})) {
    for (const double load : {0.4, 0.7}) insert_and_find(on, {bucket_bits, kKeyBits<Key>}, load);
    insert_and_find(on, {bucket_bits, key_bits<Key>(62)}, 0.7);
  }
  insert_and_find(on, {on.scheme.chains ? 7u : by_tier(10u, 7u), key_bits<Key>(40)},
                  on.scheme.stash == 0 ? 0.9 : on.scheme.sure_load);
  load_factors(on, false);
  full_table(on, false);
  wrapping(on);
  start_again(on);
  erase_suite(on);
}

/// Keys come again and again, a few of them far more often; no count is lost.
template <class Key>
void count_at_once(const SchemeOnTile<Key>& on, std::uint32_t bucket_bits, std::size_t rounds) {
  const TableShape shape{bucket_bits, kSpreadKeyBits<Key>};
  if (!fits(on, shape)) return;
  Table<Key> table(on, shape);
  const std::size_t distinct = (table.bucket_slots() + 1) / 2;
  Ledger<Key> ledger;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < distinct; ++i) {
      const bool hot = i % 4 == 3;
      ledger.plan(spread_key<Key>(hot ? round % 3 % distinct : (i + 7 * round) % distinct),
                  static_cast<std::uint32_t>(1 + i % 3));
    }
  }
  table.run_at_once(Operation::insert, ledger);
  CHECK(ledger.refused() == 0);
  CHECK(ledger.how_many(&Done<Key>::wrapped) == 0);
  table.check_inserted(ledger, true);
}

/// All tiles want the same slot, and its count passes 2^32 several times.
template <class Key>
void one_key_at_once(const SchemeOnTile<Key>& on) {
  Table<Key> table(on, {1, kSpreadKeyBits<Key>});
  const std::size_t times = by_tier(20000, 9000);
  constexpr std::uint32_t kEach = 1000003;
  Ledger<Key> ledger;
  for (std::size_t i = 0; i < times; ++i) ledger.plan(spread_key<Key>(5), kEach);
  table.run_at_once(Operation::insert, ledger);
  CHECK(ledger.refused() == 0);
  CHECK(ledger.how_many(&Done<Key>::is_new) == 1);
  CHECK(ledger.how_many(&Done<Key>::wrapped) == (times * kEach) >> 32);
  table.check_inserted(ledger, true);
}

/// Neighbours want a slot for the same key, and with ordered windows all keys want the same window, until
/// the table is as full as its scheme lets it be.
template <class Key>
void claim_at_once(const SchemeOnTile<Key>& on) {
  const TableShape shape{6, key_bits<Key>(40)};
  if (!fits(on, shape)) return;
  constexpr std::uint32_t kTogether = 4;
  Table<Key> table(on, shape);
  Ledger<Key> ledger;
  const std::size_t distinct = on.scheme.fills_up ? table.slots()
                               : on.scheme.chains ? table.slots() / 2
                                                  : table.bucket_slots() / 10 * 9;
  for (std::size_t i = 0; i < distinct; ++i) {
    for (std::uint32_t j = 0; j < kTogether; ++j) ledger.plan(static_cast<Key>(i));
  }
  table.run_at_once(Operation::insert, ledger);
  CHECK(ledger.refused() == 0);
  table.check_inserted(ledger, true);
}

/// Inserts distinct keys with their counts in one pass: none is lost, none is there twice, and counts move
/// with keys. Of twice as many keys as there are slots, refused ones come back with their counts.
template <class Key>
void distinct_at_once(const SchemeOnTile<Key>& on) {
  if (!on.scheme.distinct_at_once) return;
  for (const std::uint32_t bucket_bits : by_tier<std::vector<std::uint32_t>>({0, 2, 5, 9}, {0, 5})) {
    const TableShape shape{bucket_bits, kSpreadKeyBits<Key>};
    if (!fits(on, shape)) continue;
    for (const double load : {0.6, on.scheme.sure_load, 2.0}) {
      Table<Key> table(on, shape);
      Ledger<Key> ledger;
      const auto keys = static_cast<std::size_t>(static_cast<double>(table.bucket_slots()) * load);
      for (std::size_t i = 0; i < keys; ++i)
        ledger.plan(spread_key<Key>(i + 1), static_cast<std::uint32_t>(i % 1000 + 1));
      table.run_at_once(Operation::insert_distinct, ledger);
      if (load <= on.scheme.sure_load && on.scheme.stash != 0) CHECK(ledger.refused() == 0);
      CHECK(ledger.expected().size() == keys - ledger.refused());
      table.check_holds(ledger.expected());
    }
  }
}

/// Tests the work of many tiles side by side.
template <class Key>
void whole_suite_at_once(const SchemeOnTile<Key>& on, std::size_t rounds) {
  if (on.exclusive) return;
  INFO(name_of(on));
  for (const std::uint32_t bucket_bits : by_tier<std::vector<std::uint32_t>>({0, 3, 5, 8}, {0, 5}))
    count_at_once(on, bucket_bits, rounds);
  one_key_at_once(on);
  for (int i = 0; i < by_tier(10, 3); ++i) claim_at_once(on);
  load_factors(on, true);
  full_table(on, true);
  distinct_at_once(on);
  erase_suite_at_once(on);
}

}  // namespace warpmer::tests
