#pragma once
/// Counting in a cuckoo table, an iceberg table or a slab hash: the tables that `--table` asks for by name.
/// One that is full, or in which a key found no place, is built anew for that shard alone, with other hash
/// functions or larger (table/rebuild.h).

#include <algorithm>
#include <utility>

#include "cpu/count/hash_counter.h"
#include "cpu/count/sorted_buckets.h"
#include "table/rebuild.h"
#include "table/slab.h"
#include "table/stash.h"
#include "table/tile.h"

namespace warpmer::cpu {

/// Memory for a cuckoo or an iceberg table.
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

/// Memory for a slab hash.
template <class Key>
class SlabMemory {
 public:
  using Table = SlabTable<Key>;
  using Slab = table::CountSlab<Key>;

  /// Makes an empty table whose base slabs are filled to `load` by so many keys, with a slab more for every
  /// fourth bucket: at three quarters, about every sixth needs one.
  void lay_out(Table& table, std::size_t keys, double load) {
    table.buckets = static_cast<std::uint32_t>(static_cast<double>(keys) / (load * Slab::kSlots)) + 1;
    table.units = table.buckets / 4 + 32;
    table.slabs = slabs_.get(table.buckets + table.units);
    for (std::uint64_t i = 0; i < table.buckets + table.units; ++i) table::make_empty(table.slabs[i]);
    const std::size_t words = std::size_t{table::blocks_for(table.units)} * table::kBitmapWords;
    table.bitmaps = bitmaps_.get(words);
    for (std::size_t i = 0; i < words; ++i) table.bitmaps[i] = table::bitmap_at_first(table.units, i);
    table.alloc_state = state_.get(1);
    *table.alloc_state = {};
    table.resident = {};
  }
  [[nodiscard]] std::uint64_t bytes() const { return slabs_.bytes() + bitmaps_.bytes() + state_.bytes(); }

 private:
  Scratch<Slab> slabs_;
  Scratch<std::uint32_t> bitmaps_;
  Scratch<table::SlabAllocState> state_;
};

/// The schemes: what their tables lie in, their kernels, how full they are to get, and how many hash
/// functions are tried before a table that is not full is made larger.
struct BchtScheme {
  static constexpr double kLoad = 0.9;
  static constexpr std::uint32_t kSeeds = 3;
  template <class Key>
  using Memory = BucketMemory<Key>;
  template <class Key>
  static const auto& kernels(const SchemeKernels<Key>& of) {
    return of.bcht;
  }
};
struct IcebergScheme {
  static constexpr double kLoad = 0.78;
  static constexpr std::uint32_t kSeeds = 3;
  template <class Key>
  using Memory = BucketMemory<Key>;
  template <class Key>
  static const auto& kernels(const SchemeKernels<Key>& of) {
    return of.iceberg;
  }
};
struct SlabScheme {
  static constexpr double kLoad = 0.75;
  static constexpr std::uint32_t kSeeds = 1;  // buckets are ordered: there is one hash function
  template <class Key>
  using Memory = SlabMemory<Key>;
  template <class Key>
  static const auto& kernels(const SchemeKernels<Key>& of) {
    return of.slab;
  }
};

template <class Key, class Scheme>
class TableCounter : public HashCounter<Key> {
 public:
  /// Keys are hashes of k-mers of 2k bits. `buckets` puts what has been counted in order.
  TableCounter(const Kernels& kernels, std::uint32_t k, SortedBuckets<Key>& buckets)
      : kernels_(Scheme::kernels(kernels.schemes<Key>())), buckets_(buckets) {
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

  std::size_t harvest(ShardArrays<Key>& arrays, Carries<Key>& carries) override {
    lists_.move_carries(table_, carries);
    if (table_.overflow_size > 0) rebuild();
    lists_.move_carries(table_, carries);
    const std::size_t room = table_.size + carries.size();
    HashList<Key> list{arrays.keys.get(room), arrays.weights.get(room), 0, 0};
    kernels_.list(table_, list);
    // A count that is a multiple of 2^32 looks to a slab hash as if its key were not there.
    for (const auto& [key, carry] : carries) {
      list.keys[list.size] = key;
      list.weights[list.size++] = 0;
    }
    std::size_t size = buckets_.reduce(list, arrays, carries);
    if (table_.empty_key_count > 0) {  // the largest key there is
      arrays.keys.data()[size] = table::kEmptyKey<Key>;
      arrays.counts.data()[size++] = table_.empty_key_count;
    }
    return size;
  }

  /// Returns how often the table was built anew since it was empty.
  [[nodiscard]] std::uint64_t rebuilds() const { return rebuilds_; }

  [[nodiscard]] std::uint64_t memory_bytes() const override { return memory_.bytes(); }
  void clear() override { memory_ = {}; }

 private:
  using Memory = typename Scheme::template Memory<Key>;
  using Table = typename Memory::Table;

  [[nodiscard]] bool is_full() const { return table_.size + kInsertKeys > table_.limit; }

  static void lay_out(Table& table, Memory& memory, std::size_t limit, std::uint32_t seed) {
    memory.lay_out(table, limit, Scheme::kLoad);
    if constexpr (requires { table.seed; }) table.seed = seed;
    table.limit = limit;
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
    const bool is_larger = is_full() || Scheme::kSeeds == 1;
    for (std::size_t limit = is_larger ? 2 * table_.limit : table_.limit;; limit *= 2) {
      Table fresh = table_;
      Memory memory;
      const auto build = [&](std::uint32_t with) {
        lay_out(fresh, memory, limit, with);
        return kernels_.rehash(table_, fresh);
      };
      if (table::first_seed_that_builds(seed + 1, Scheme::kSeeds, build)) {
        table_ = fresh;
        memory_ = std::move(memory);
        return;
      }
      seed += Scheme::kSeeds;
    }
  }

  TableKernels<Table> kernels_;
  SortedBuckets<Key>& buckets_;
  Table table_{};
  Memory memory_;
  TableLists<Key> lists_;
  std::uint64_t rebuilds_ = 0;
};

}  // namespace warpmer::cpu
