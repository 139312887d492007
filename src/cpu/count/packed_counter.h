#pragma once
/// Counting hashes of at most 64 bits in words that hold a hash's rest and its count: a window of eight is
/// one cache line, and windows are ordered by hash. The few hashes that find no place there are counted in
/// the table for hashes of any width.

#include <algorithm>
#include <cstring>

#include "cpu/count/hash_counter.h"
#include "cpu/count/window_counter.h"

namespace warpmer::cpu {

class PackedCounter : public HashCounter<Key64> {
 public:
  /// Keys are hashes of k-mers of 2k bits.
  PackedCounter(const PackedKernels& kernels, const ShardKernels<Key64, 2>& for_others, std::uint32_t k)
      : kernels_(kernels), others_(for_others, k) {
    table_.key_bits = 2 * k;
    lists_.give_to(table_);
  }

  void reset(double distinct) override {
    std::uint32_t bits = kLeastWindowBits;
    while (bits < most_window_bits() && kMostLoad * static_cast<double>(slots(bits)) < distinct) ++bits;
    lay_out(table_, words_, bits);
    table_.overflow_size = 0;
    has_others_ = false;
  }

  void insert(const HashList<Key64>& list, Carries<Key64>& carries) override {
    for (std::size_t done = 0; (done = kernels_.insert(table_, list, done)) < list.size;) {
      if (table_.size + kInsertKeys > table_.limit) {
        widen();
      } else {
        scatter(carries);
      }
    }
  }

  std::size_t harvest(ShardArrays<Key64>& arrays, Carries<Key64>& carries) override {
    scatter(carries);
    const std::size_t others = has_others_ ? others_.harvest(other_arrays_, carries) : 0;
    const std::size_t room = table_.size + others + kPackedWindow;
    kernels_.harvest(table_, arrays.keys.get(room), arrays.counts.get(room));
    return merge_others(arrays.keys.data(), arrays.counts.data(), others);
  }

  [[nodiscard]] std::uint64_t memory_bytes() const override {
    return words_.bytes() + others_.memory_bytes() + other_arrays_.keys.bytes() +
           other_arrays_.counts.bytes();
  }
  void clear() override {
    words_.clear();
    others_.clear();
    other_arrays_.keys.clear();
    other_arrays_.counts.clear();
  }

 private:
  /// So few that counts have room, and one insertion.
  static constexpr std::uint32_t kLeastWindowBits = 8;
  /// Load of a table: beyond it many windows are full. Times differ by 5 % from 0.6 to 1.1.
  static constexpr double kMostLoad = 0.85;
  static constexpr double kFirstOthers = 4096;

  [[nodiscard]] static std::size_t slots(std::uint32_t window_bits) {
    return std::size_t{kPackedWindow} << window_bits;
  }
  [[nodiscard]] std::uint32_t most_window_bits() const { return table_.key_bits - 1; }

  void lay_out(PackedTable& table, Scratch<std::uint64_t>& words, std::uint32_t window_bits) const {
    table.words = words.get(slots(window_bits));
    std::memset(table.words, 0, slots(window_bits) * sizeof(std::uint64_t));
    table.window_bits = window_bits;
    table.rest_bits = table.key_bits - window_bits;
    table.count_bits = 64 - table.rest_bits;
    table.size = 0;
    // All hashes there are have room in so many windows.
    table.limit = window_bits == most_window_bits()
                      ? SIZE_MAX
                      : static_cast<std::size_t>(kMostLoad * static_cast<double>(slots(window_bits)));
  }

  void widen() {
    Scratch<std::uint64_t> words;
    PackedTable wider = table_;
    lay_out(wider, words, table_.window_bits + 1);
    kernels_.widen(table_, wider);
    table_ = wider;
    words_.swap(words);
  }

  /// Counts the overflow in the other table.
  void scatter(Carries<Key64>& carries) {
    if (table_.overflow_size == 0) return;
    if (!has_others_) others_.reset(kFirstOthers);
    has_others_ = true;
    others_.insert({table_.overflow, table_.overflow_counts, table_.overflow_size, 0}, carries);
    table_.overflow_size = 0;
  }

  /// Merges what the other table had with `table_.size` entries: counts of hashes that are in both are added
  /// up, the rest is put in its place.
  std::size_t merge_others(Key64* keys, std::uint64_t* counts, std::size_t others) {
    Key64* const other_keys = other_arrays_.keys.data();
    std::uint64_t* const other_counts = other_arrays_.counts.data();
    std::size_t here = 0, left = 0;
    for (std::size_t i = 0; i < others; ++i) {
      here =
          static_cast<std::size_t>(std::lower_bound(keys + here, keys + table_.size, other_keys[i]) - keys);
      if (here < table_.size && keys[here] == other_keys[i]) {
        counts[here] += other_counts[i];
      } else {
        other_keys[left] = other_keys[i];
        other_counts[left++] = other_counts[i];
      }
    }
    merge_from_back(keys, counts, table_.size, other_keys, other_counts, left);
    return table_.size + left;
  }

  PackedKernels kernels_;
  PackedTable table_{};
  WindowCounter<Key64> others_;
  bool has_others_ = false;
  Scratch<std::uint64_t> words_;
  TableLists<Key64> lists_;
  ShardArrays<Key64> other_arrays_;
};

}  // namespace warpmer::cpu
