#pragma once
/// Counting in a WarpDrive table whose windows are ordered by hash: what comes out of it is nearly in order.

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "cpu/count/hash_counter.h"

namespace warpmer::cpu {

template <class Key>
class WindowCounter : public HashCounter<Key> {
 public:
  /// Keys are hashes of k-mers of 2k bits.
  template <int Words>
  WindowCounter(const ShardKernels<Key, Words>& kernels, std::uint32_t k)
      : insert_(kernels.insert), rehash_(kernels.rehash), harvest_(kernels.harvest) {
    table_.key_bits = 2 * k;
    lists_.give_to(table_);
  }

  /// Makes an empty table for a load below 0.65.
  void reset(double distinct) override {
    const double expected = distinct / 0.65;
    std::uint32_t bits = std::bit_width(2 * kInsertKeys / kWindow) - 1;  // room for one insertion at least
    while (bits < kMaxWindowBits && static_cast<double>(std::uint64_t{kWindow} << bits) < expected) ++bits;
    allocate(std::min(bits, table_.key_bits));
    table_.empty_key_count = 0;
    table_.carries_size = 0;
  }

  void insert(const HashList<Key>& list, Carries<Key>& carries) override {
    for (std::size_t done = 0; (done = insert_(table_, list, done)) < list.size;) {
      lists_.move_carries(table_, carries);
      if (table_.overflow_size > 0 || table_.size + kInsertKeys > table_.limit) grow();
    }
  }

  /// The windows' own entries come out in order; displaced ones are merged in from the back.
  std::size_t harvest(ShardArrays<Key>& arrays, Carries<Key>& carries) override {
    if (table_.overflow_size > 0) grow();
    lists_.move_carries(table_, carries);
    const std::size_t room = table_.size + kWindow + 1;
    Key* keys = arrays.keys.get(room);
    std::uint64_t* counts = arrays.counts.get(room);
    Key* displaced_keys = displaced_keys_.get(room);
    std::uint64_t* displaced_counts = displaced_counts_.get(room);
    const std::size_t displaced = harvest_(table_, keys, counts, displaced_keys, displaced_counts);
    sort_displaced(displaced);
    merge_from_back(keys, counts, table_.size - displaced, displaced_keys, displaced_counts, displaced);
    std::size_t size = table_.size;
    if (table_.empty_key_count > 0) {  // the largest key there is
      keys[size] = table::kEmptyKey<Key>;
      counts[size++] = table_.empty_key_count;
    }
    return size;
  }

  [[nodiscard]] std::uint64_t memory_bytes() const override {
    return slot_keys_.bytes() + slot_counts_.bytes() + displaced_keys_.bytes() + displaced_counts_.bytes();
  }
  void clear() override {
    slot_keys_.clear();
    slot_counts_.clear();
    displaced_keys_.clear();
    displaced_counts_.clear();
    order_ = std::vector<std::pair<Key, std::uint64_t>>();
  }

 private:
  static constexpr int kWindow = kTableWindow<Key>;
  static constexpr std::uint32_t kMaxWindowBits = 31;  // window numbers are 32-bit

  void allocate(std::uint32_t window_bits) {
    const std::size_t slots = std::size_t{kWindow} << window_bits;
    table_.slots = {slot_keys_.get(slots), slot_counts_.get(slots)};
    table_.window_bits = window_bits;
    table_.size = 0;
    table_.limit = slots - slots / 4;
    table_.overflow_size = 0;
    std::memset(table_.slots.keys, 0xFF, slots * sizeof(Key));
    std::memset(table_.slots.counts, 0, slots * sizeof(std::uint32_t));
  }

  /// Rebuilds the table at twice the size, as often as it takes for every key to find a place.
  void grow() {
    Scratch<Key> old_keys;
    Scratch<std::uint32_t> old_counts;
    for (bool placed = false; !placed;) {
      old_keys.swap(slot_keys_);
      old_counts.swap(slot_counts_);
      CountingTable<Key> old = table_;
      std::vector<Key> keys(old.overflow, old.overflow + old.overflow_size);
      std::vector<std::uint32_t> counts(old.overflow_counts, old.overflow_counts + old.overflow_size);
      allocate(std::min(table_.window_bits + 1, table_.key_bits));
      rehash_(old, keys.data(), counts.data(), keys.size(), table_);
      placed = table_.overflow_size == 0;
    }
  }

  void sort_displaced(std::size_t n) {
    order_.resize(n);
    for (std::size_t i = 0; i < n; ++i) order_[i] = {displaced_keys_.data()[i], displaced_counts_.data()[i]};
    std::sort(order_.begin(), order_.end());
    for (std::size_t i = 0; i < n; ++i) {
      displaced_keys_.data()[i] = order_[i].first;
      displaced_counts_.data()[i] = order_[i].second;
    }
  }

  decltype(ShardKernels<Key, 2>::insert) insert_;
  decltype(ShardKernels<Key, 2>::rehash) rehash_;
  decltype(ShardKernels<Key, 2>::harvest) harvest_;
  CountingTable<Key> table_{};
  TableLists<Key> lists_;
  Scratch<Key> slot_keys_, displaced_keys_;
  Scratch<std::uint32_t> slot_counts_;
  Scratch<std::uint64_t> displaced_counts_;
  std::vector<std::pair<Key, std::uint64_t>> order_;
};

}  // namespace warpmer::cpu
