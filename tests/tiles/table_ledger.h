#pragma once
/// The parts of the table suite's tests: keys, a table of one scheme on one tile, and the ledger of all
/// operations on it, which says what it must hold.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "table/tile.h"
#include "tiles/tile_ops.h"

namespace warpmer::tests {

/// Operations on a table, all of the same kind, and the outcome of each.
template <class Key>
struct Ledger {
  std::vector<Key> keys;
  std::vector<std::uint32_t> n;
  std::vector<Done<Key>> done;

  void plan(Key key, std::uint32_t count = 1) {
    keys.push_back(key);
    n.push_back(count);
  }
  void plan_overflow_of(const Ledger& other) {
    for (const Done<Key>& one : other.done) {
      if (one.overflow.count != 0) plan(one.overflow.key, one.overflow.count);
    }
  }
  [[nodiscard]] std::size_t how_many(bool Done<Key>::*what) const {
    std::size_t sum = 0;
    for (const Done<Key>& one : done) sum += one.*what ? 1 : 0;
    return sum;
  }
  [[nodiscard]] std::size_t refused() const { return done.size() - how_many(&Done<Key>::placed); }

  /// For insertions: returns the keys that a table must hold, with their counts. Every key that was planned
  /// and did not come back as overflow is there.
  [[nodiscard]] std::map<Key, std::uint32_t> expected() const {
    std::map<Key, std::uint64_t> sums;
    for (std::size_t i = 0; i < keys.size(); ++i) sums[keys[i]] += n[i];
    for (const Done<Key>& one : done) {
      if (one.overflow.count != 0) sums[one.overflow.key] -= one.overflow.count;
    }
    std::map<Key, std::uint32_t> counts;
    for (const auto& [key, sum] : sums) {
      if (sum != 0) counts[key] = static_cast<std::uint32_t>(sum);
    }
    return counts;
  }
};

template <class Key>
bool is_reserved(Key key) {
  return key == table::kEmptyKey<Key> || key == table::kTombstoneKey<Key>;
}

template <class Key>
std::string name_of(const SchemeOnTile<Key>& on) {
  return fmt::format("{} on {} tile of {} slots", on.scheme.name, on.tile, on.width);
}

/// True when a table of this shape fits; not only shared memory is too small for some tables.
template <class Key>
bool fits(const SchemeOnTile<Key>& on, TableShape shape) {
  return on.slots(shape) <= on.most_slots;
}

/// A table, which is empty at first.
template <class Key>
class Table {
 public:
  Table(const SchemeOnTile<Key>& on, TableShape shape)
      : on_(on), shape_(shape), memory_(on.memory(on.slots(shape))) {}

  [[nodiscard]] std::size_t slots() const { return on_.slots(shape_); }
  [[nodiscard]] std::size_t bucket_slots() const { return slots() - on_.scheme.stash; }
  [[nodiscard]] std::vector<Key> keys() const {
    std::vector<Key> keys;
    for (const table::Slot<Key>& slot : memory_->read()) keys.push_back(slot.key);
    return keys;
  }

  void run(Operation operation, Ledger<Key>& ledger, bool at_once = false) {
    ledger.done.assign(ledger.keys.size(), {});
    const auto run = at_once ? on_.run_at_once : on_.run;
    run(memory_->slots(), shape_, operation, ledger.keys.data(), ledger.n.data(), ledger.keys.size(),
        ledger.done.data());
  }
  void run_at_once(Operation operation, Ledger<Key>& ledger) { run(operation, ledger, true); }

  [[nodiscard]] std::size_t how_many_found(const std::vector<Key>& keys) {
    Ledger<Key> lookups;
    for (const Key& key : keys) lookups.plan(key);
    run(Operation::find, lookups);
    return lookups.how_many(&Done<Key>::placed);
  }

  [[nodiscard]] std::vector<table::Slot<Key>> entries() const {
    std::vector<table::Slot<Key>> all = memory_->read();
    std::erase_if(all, [](const table::Slot<Key>& entry) {
      return entry.key == table::kEmptyKey<Key> || entry.key == table::kTombstoneKey<Key>;
    });
    return all;
  }

  /// Checks that the table holds the keys that insertions should have left in it, and nothing else.
  void check_inserted(const Ledger<Key>& insertions, bool were_at_once = false) {
    check_holds(insertions.expected(), were_at_once && on_.scheme.may_spare);
    if (!on_.scheme.may_spare) CHECK(insertions.how_many(&Done<Key>::is_new) == insertions.expected().size());
  }

  /// Checks that every expected key is found in its place, with its count, and that other slots hold no key
  /// or, if there may be spares, keys with a count of 0.
  void check_holds(const std::map<Key, std::uint32_t>& expected, bool may_spare = false) {
    Ledger<Key> lookups;
    for (const auto& [key, count] : expected) lookups.plan(key);
    run(Operation::find, lookups);
    const std::vector<table::Slot<Key>> in_slots = memory_->read();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < lookups.keys.size(); ++i) {
      const Key key = lookups.keys[i];
      const auto slot = static_cast<std::size_t>(lookups.done[i].slot);
      const bool right = slot < in_slots.size() && in_slots[slot].key == key &&
                         in_slots[slot].count == expected.at(key) &&
                         lookups.done[i].count == expected.at(key);
      wrong += right ? 0 : 1;
    }
    CHECK(wrong == 0);
    std::size_t filled = 0, spare = 0;
    for (const table::Slot<Key>& slot : in_slots) {
      if (is_reserved(slot.key)) continue;
      filled += 1;
      spare += slot.count == 0 ? 1 : 0;
    }
    CHECK(filled - spare == expected.size());
    if (!may_spare) CHECK(spare == 0);
  }

 private:
  const SchemeOnTile<Key>& on_;
  TableShape shape_;
  std::unique_ptr<TableMemory<Key>> memory_;
};

/// Returns `bits`, or as many bits as a key has if these are fewer.
template <class Key>
constexpr std::uint32_t key_bits(std::uint32_t bits) {
  return bits < kKeyBits<Key> ? bits : kKeyBits<Key>;
}

template <class Key>
Key random_key(std::mt19937_64& random, std::uint32_t bits) {
  auto key = static_cast<Key>(random());
  if constexpr (sizeof(Key) == 16) key = (key << 64) | random();
  return bits >= kKeyBits<Key> ? key : key & ((Key{1} << bits) - 1);
}

/// Returns many different keys, by their number, that spread over a table's windows.
template <class Key>
Key spread_key(std::size_t i) {
  const Key64 bits = Key64{i} * 0x9E3779B97F4A7C15u;
  // Both halves matter, so that a key of which half was written would be noticed.
  if constexpr (sizeof(Key) == 16) return (Key{bits >> 2} << 64) | ~bits;
  if constexpr (sizeof(Key) == 4) return static_cast<Key>(bits >> 34);
  return static_cast<Key>(bits >> 2);
}
template <class Key>
constexpr std::uint32_t kSpreadKeyBits = kKeyBits<Key> - 2;

}  // namespace warpmer::tests
