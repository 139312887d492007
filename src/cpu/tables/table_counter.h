#pragma once
/// Counting in a table of one of the schemes of src/table, which `--table` asks for by name. One that is
/// full, or in which a key found no place, is built anew for that shard alone, with other hash functions or
/// larger (table/rebuild.h).

#include <algorithm>
#include <utility>

#include "cpu/count/hash_counter.h"
#include "table/rebuild.h"
#include "table/tile.h"

namespace warpmer::cpu {

/// Kernels of a scheme.
template <class Table>
struct TableKernels {
  using Key = typename Table::Key;
  /// Inserts the list's hashes from number `first` on into the table. Returns the number of the first
  /// one not inserted: the size, or less when the table has to grow (or its lists to be emptied).
  std::size_t (*insert)(Table&, const HashList<Key>&, std::size_t first);
  /// Inserts what `from` holds, and what found no place in it, into the empty table `to`. False as soon as
  /// something finds no place there; then `to` is of no use, and `from` is what it was.
  bool (*rehash)(const Table& from, Table& to);
  /// Appends all keys in the table with their counts, in any order. The list has room for `size` more.
  void (*list)(const Table&, HashList<Key>&);
  /// Finds the counts of keys, 0 for those that are not there. Null for schemes in which no live table is.
  void (*find)(const Table&, const Key* keys, std::size_t n, std::uint32_t* counts);
};

/// Says how full a table is to get, and how many hash functions are tried before one that is not full is made
/// larger.
struct TableLimits {
  double load;
  std::uint32_t seeds;
};

/// `Memory` lays out empty tables of the type Memory::Table: `lay_out(table, keys, load)` for so many keys;
/// `bytes()` is what that takes.
template <class Memory>
class TableCounter : public HashCounter<typename Memory::Table::Key> {
 public:
  using Table = typename Memory::Table;
  using Key = typename Table::Key;

  /// Keys are hashes of k-mers of 2k bits.
  TableCounter(const TableKernels<Table>& kernels, TableLimits limits, std::uint32_t k)
      : kernels_(kernels), limits_(limits) {
    table_.key_bits = 2 * k;
    lists_.give_to(table_);
  }

  void reset(double distinct) override {
    lay_out(table_, memory_, std::max(static_cast<std::size_t>(distinct), 2 * kInsertKeys), 0);
    table_.empty_key_count = 0;
    rebuilds_ = 0;
  }

  void insert(const HashList<Key>& list, Carries<Key>& carries) override {
    for (std::size_t done = 0; (done = kernels_.insert(table_, list, done)) < list.size;) {
      lists_.move_carries(table_, carries);
      if (table_.overflow_size > 0 || is_full()) rebuild();
    }
  }

  HashList<Key> list(ShardArrays<Key>& arrays, Carries<Key>& carries) override {
    lists_.move_carries(table_, carries);
    if (table_.overflow_size > 0) rebuild();
    lists_.move_carries(table_, carries);
    if (table_.empty_key_count > 0) carries[table::kEmptyKey<Key>] += table_.empty_key_count;
    const std::size_t room = table_.size + carries.size();
    HashList<Key> list{arrays.keys.get(room), arrays.weights.get(room), 0, 0};
    kernels_.list(table_, list);
    // A count that is a multiple of 2^32 looks to a slab hash as if its key were not there.
    for (const auto& [key, carry] : carries) {
      list.keys[list.size] = key;
      list.weights[list.size++] = 0;
    }
    return list;
  }

  [[nodiscard]] std::uint64_t rebuilds() const override { return rebuilds_; }

  [[nodiscard]] std::uint64_t memory_bytes() const override { return memory_.bytes(); }
  void clear() override { memory_ = {}; }

 private:
  [[nodiscard]] bool is_full() const { return table_.size + kInsertKeys > table_.limit; }

  void lay_out(Table& table, Memory& memory, std::size_t limit, std::uint32_t seed) const {
    memory.lay_out(table, limit, limits_.load);
    if constexpr (requires { table.seed; }) table.seed = seed;
    table.limit = limit;
    if constexpr (requires { Memory::room_for(limit); }) table.limit = Memory::room_for(limit);
    table.size = 0;
    table.overflow_size = 0;
    table.carries_size = 0;
  }

  /// Builds the table again with other hash functions, or larger: when it is full, and when other functions
  /// do not help.
  void rebuild() {
    ++rebuilds_;
    std::uint32_t seed = 0;
    if constexpr (requires { table_.seed; }) seed = table_.seed;
    const bool is_larger = is_full() || limits_.seeds == 1;
    for (std::size_t limit = is_larger ? 2 * table_.limit : table_.limit;; limit *= 2) {
      Table fresh = table_;
      Memory memory;
      const auto build = [&](std::uint32_t with) {
        lay_out(fresh, memory, limit, with);
        return kernels_.rehash(table_, fresh);
      };
      if (table::first_seed_that_builds(seed + 1, limits_.seeds, build)) {
        table_ = fresh;
        memory_ = std::move(memory);
        return;
      }
      seed += limits_.seeds;
    }
  }

  TableKernels<Table> kernels_;
  TableLimits limits_;
  Table table_{};
  Memory memory_;
  TableLists<Key> lists_;
  std::uint64_t rebuilds_ = 0;
};

}  // namespace warpmer::cpu
