#pragma once
/// The table suite for schemes that erase.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "tier.h"
#include "tiles/table_ledger.h"
#include "tiles/tile_ops.h"

namespace warpmer::tests {

/// Runs rounds of one kind of operation each, with keys drawn from few, so that they meet again in all
/// states.
template <class Key>
void mixed_rounds(const SchemeOnTile<Key>& on, TableShape shape) {
  if (!fits(on, shape)) return;
  Table<Key> table(on, shape);
  std::mt19937_64 random(shape.bucket_bits + 7);
  const std::size_t universe = table.slots() / 4 * 3;
  std::map<Key, std::uint32_t> expected;
  std::size_t wrong = 0;
  for (int round = 0; round < by_tier(24, 8); ++round) {
    const Operation operation =
        std::vector{Operation::insert_over_tombstones, Operation::erase, Operation::replace,
                    Operation::erase}[static_cast<std::size_t>(round) % 4];
    Ledger<Key> ledger;
    for (std::size_t i = 0; i < universe / 2; ++i)
      ledger.plan(spread_key<Key>(random() % universe + 1), static_cast<std::uint32_t>(random() % 9 + 1));
    table.run(operation, ledger);
    for (std::size_t i = 0; i < ledger.keys.size(); ++i) {
      const bool was_there = expected.count(ledger.keys[i]) != 0;
      const Done<Key>& done = ledger.done[i];
      if (operation == Operation::erase) {
        wrong += done.placed == was_there ? 0 : 1;
        expected.erase(ledger.keys[i]);
      } else {
        wrong += done.placed && done.is_new != was_there ? 0 : 1;
        if (operation == Operation::replace) expected[ledger.keys[i]] = 0;
        expected[ledger.keys[i]] += ledger.n[i];
      }
    }
    table.check_holds(expected);
    CHECK(table.entries().size() == expected.size());
  }
  CHECK(wrong == 0);
}

template <class Key>
std::size_t slots_used(const std::vector<Key>& keys) {
  return keys.size() - static_cast<std::size_t>(std::count(keys.begin(), keys.end(), table::kEmptyKey<Key>));
}

/// More keys of one home than a window holds are inserted, and all are erased but the last: it is still
/// found, and the others come back into the places of erased keys, none of them twice.
template <class Key>
void tombstones(const SchemeOnTile<Key>& on) {
  const TableShape shape{3, key_bits<Key>(40), 1, 1};
  if (!fits(on, shape)) return;
  Table<Key> table(on, shape);
  const std::size_t crowd = on.reach(shape, Key{0}) / 2;
  Ledger<Key> first, erased, again;
  for (Key key = 0; first.keys.size() < crowd; ++key) {
    if (on.address(shape, key) == on.address(shape, Key{0})) first.plan(key, 3);
  }
  const Key last = first.keys.back();
  std::map<Key, std::uint32_t> expected{{last, 8u}};
  for (const Key& key : first.keys) {
    again.plan(key, 5);
    if (key == last) continue;
    erased.plan(key);
    expected[key] = 5;
  }
  table.run(Operation::insert, first);
  CHECK(slots_used(table.keys()) == crowd);
  table.run(Operation::erase, erased);
  CHECK(erased.how_many(&Done<Key>::placed) == crowd - 1);
  table.check_holds({{last, 3u}});
  table.run(Operation::insert_over_tombstones, again);
  CHECK(again.how_many(&Done<Key>::is_new) == crowd - 1);
  table.check_holds(expected);
  CHECK(slots_used(table.keys()) == crowd);
}

/// The last key of a window leaves an empty slot, any other a tombstone.
template <class Key>
void last_of_a_window(const SchemeOnTile<Key>& on) {
  const TableShape shape{0, key_bits<Key>(40)};
  if (on.width < 4 || !fits(on, shape)) return;
  Table<Key> table(on, shape);
  Ledger<Key> keys;
  for (Key key = 1; key <= 3; ++key) keys.plan(key);
  table.run(Operation::insert, keys);
  const auto erase = [&](Key key) {
    Ledger<Key> one;
    one.plan(key);
    table.run(Operation::erase, one);
    CHECK(one.done[0].placed);
  };
  erase(3);
  CHECK(slots_used(table.keys()) == 2);
  erase(1);
  CHECK(slots_used(table.keys()) == 2);
  table.check_holds({{Key{2}, 1u}});
}

template <class Key>
void erase_suite(const SchemeOnTile<Key>& on) {
  if (!on.scheme.erases) return;
  for (const std::uint32_t bucket_bits : {1u, 4u, 7u}) mixed_rounds(on, {bucket_bits, kSpreadKeyBits<Key>});
  tombstones(on);
  if (!on.scheme.chains) last_of_a_window(on);
}

/// Four neighbours each do the same to the same key: it is erased once, and comes back once with all counts;
/// of four values one stays.
template <class Key>
void erase_suite_at_once(const SchemeOnTile<Key>& on) {
  const TableShape shape{5, kSpreadKeyBits<Key>};
  if (!on.scheme.erases || !fits(on, shape)) return;
  Table<Key> table(on, shape);
  const std::size_t distinct = table.slots() / 4 * 3;
  Ledger<Key> counts, erased, values;
  std::map<Key, std::uint32_t> half, all;
  for (std::size_t i = 0; i < distinct; ++i) {
    const Key key = spread_key<Key>(i + 1);
    for (std::uint32_t j = 0; j < 4; ++j) {
      counts.plan(key, 2);
      if (i % 2 == 0) erased.plan(key);
      values.plan(key, 100 + j);
    }
    all[key] = i % 2 == 0 ? 8 : 16;
    if (i % 2 != 0) half[key] = 8;
  }
  const auto run = [&](Operation operation, Ledger<Key>& ledger, std::size_t times) {
    table.run_at_once(operation, ledger);
    CHECK(ledger.how_many(operation == Operation::erase ? &Done<Key>::placed : &Done<Key>::is_new) == times);
  };
  run(Operation::insert_over_tombstones, counts, distinct);
  run(Operation::erase, erased, distinct - half.size());
  table.check_holds(half);
  run(Operation::insert_over_tombstones, counts, distinct - half.size());
  table.check_holds(all);
  run(Operation::replace, values, 0);
  for (const table::Slot<Key>& entry : table.entries()) CHECK((entry.count >= 100 && entry.count < 104));
  CHECK(table.how_many_found(values.keys) == values.keys.size());
}

/// After the same operations all tables of schemes that promise it are the same, slot by slot.
template <class Key>
void same_layout_for_all(const std::vector<SchemeOnTile<Key>>& tiles) {
  const TableShape shape{4, kSpreadKeyBits<Key>};
  Ledger<Key> first, erased, more;
  for (std::size_t i = 0; i < 450; ++i) first.plan(spread_key<Key>(i + 1), 1);
  for (std::size_t i = 0; i < 450; i += 3) erased.plan(spread_key<Key>(i + 1));
  for (std::size_t i = 400; i < 560; ++i) more.plan(spread_key<Key>(i + 1), 1);
  std::vector<Key> layout;
  std::size_t compared = 0;
  for (const auto& on : tiles) {
    if (!on.scheme.width_is_all_one || !fits(on, shape)) continue;
    INFO(name_of(on));
    Table<Key> table(on, shape);
    table.run(Operation::insert, first);
    table.run(Operation::erase, erased);
    table.run(Operation::insert_over_tombstones, more);
    std::vector<Key> keys = table.keys();
    // An erased key may leave either, depending on what the tile sees behind it.
    std::replace(keys.begin(), keys.end(), table::kTombstoneKey<Key>, table::kEmptyKey<Key>);
    if (layout.empty()) layout = keys;
    CHECK(keys == layout);
    compared += 1;
  }
  CHECK(compared > 1);
}

}  // namespace warpmer::tests
