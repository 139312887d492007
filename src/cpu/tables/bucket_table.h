#pragma once
/// Tables in buckets of slots, which hash functions name, with a stash behind them: bucketed cuckoo and
/// iceberg hashing.

#include <algorithm>

#include "cpu/memory/scratch.h"
#include "cpu/tables/scheme.h"
#include "table/stash.h"

namespace warpmer::cpu {

/// Slots per bucket.
inline constexpr int kTableBucket = 16;

/// A table whose hash functions name buckets.
template <class Key>
struct BucketTable : TableNotes<Key> {
  table::Slots<Key> slots;
  std::uint32_t buckets;
  std::uint32_t seed;
};

/// Memory for one.
template <class Key>
class BucketMemory {
 public:
  using Table = BucketTable<Key>;

  /// Makes an empty table that keeps below `load` with so many keys.
  void lay_out(Table& table, std::size_t keys, double load) {
    const auto slots = static_cast<std::size_t>(static_cast<double>(keys) / load);
    table.buckets = static_cast<std::uint32_t>(slots / kTableBucket + 1);
    const std::size_t all = std::size_t{table.buckets} * kTableBucket + table::kStashSlots;
    table.slots = {keys_.get(all), counts_.get(all)};
    std::fill_n(table.slots.keys, all, table::kEmptyKey<Key>);
    std::fill_n(table.slots.counts, all, 0u);
  }
  [[nodiscard]] std::uint64_t bytes() const { return keys_.bytes() + counts_.bytes(); }

 private:
  Scratch<Key> keys_;
  Scratch<std::uint32_t> counts_;
};

namespace {

template <class Key>
using BucketTile = typename SchemeTile<Key, kTableBucket>::type;

/// The base of the schemes whose hash functions name buckets. `OnTile` is one of src/table, on a BucketTile.
template <class OnTile>
class InBuckets {
 public:
  using Key = typename OnTile::Key;
  using Memory = BucketMemory<Key>;
  using Table = typename Memory::Table;

  [[gnu::always_inline]] inline explicit InBuckets(const Table& table)
      : scheme_(table.slots, table.buckets, table.seed) {}

  [[gnu::always_inline]] inline void prefetch(Key key) const {
    const auto bucket = scheme_.bucket(scheme_.bucket_of(key, 0));
    for (int i = 0; i < kTableBucket; i += 64 / static_cast<int>(sizeof(Key)))
      __builtin_prefetch(bucket.keys + i, 1);
    __builtin_prefetch(bucket.counts, 1);
  }
  [[gnu::always_inline]] inline table::Displacement<Key> insert(Key key, std::uint32_t count) {
    const BucketTile<Key> tile;
    return told(scheme_.insert(tile, key, count), key, count);
  }
  template <class Visit>
  [[gnu::always_inline]] inline static void for_each(const Table& table, Visit&& visit) {
    const std::size_t slots = OnTile::slots_for(table.buckets);
    for (std::size_t i = 0; i < slots; ++i) {
      const table::Slot<Key> slot = table.slots.read(i);
      if (slot.key != table::kEmptyKey<Key>) visit(slot);
    }
  }

 private:
  [[gnu::always_inline]] inline static table::Displacement<Key> told(table::Insertion done, Key key,
                                                                     std::uint32_t count) {
    return {done, {key, count}};
  }
  [[gnu::always_inline]] inline static table::Displacement<Key> told(const table::Displacement<Key>& done,
                                                                     Key /*key*/, std::uint32_t /*count*/) {
    return done;
  }

  OnTile scheme_;
};

}  // namespace
}  // namespace warpmer::cpu
