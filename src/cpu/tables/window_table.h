#pragma once
/// Memory of WarpDrive tables whose windows are ordered by hash, for live tables. (Those that shards are
/// counted in are in cpu/count/window_counter.h.)

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "cpu/memory/scratch.h"
#include "cpu/simd/kernels.h"
#include "cpu/tables/live_kernels.h"
#include "kmer/kmer.h"

namespace warpmer::cpu {

template <class Key>
class WindowMemory {
 public:
  using Table = CountingTable<Key>;
  static constexpr double kLoad = 0.75;

  /// Returns how many keys a table has room for that is made for `keys`.
  static std::size_t room_for(std::size_t keys) {
    return static_cast<std::size_t>(static_cast<double>(slots_for(keys)) * kLoad);
  }
  static std::uint64_t bytes_for(std::size_t keys) {
    return slots_for(keys) * (sizeof(Key) + sizeof(std::uint32_t));
  }

  /// Makes an empty table.
  void lay_out(Table& table, std::size_t keys) {
    const std::size_t slots = slots_for(keys);
    table.window_bits = static_cast<std::uint32_t>(std::bit_width(slots / kTableWindow<Key>) - 1);
    table.slots = {keys_.get(slots), counts_.get(slots)};
    std::fill_n(table.slots.keys, slots, table::kEmptyKey<Key>);
    std::fill_n(table.slots.counts, slots, 0u);
  }
  [[nodiscard]] std::uint64_t bytes() const { return keys_.bytes() + counts_.bytes(); }

 private:
  static std::size_t slots_for(std::size_t keys) {
    const auto slots = static_cast<std::size_t>(static_cast<double>(keys) / kLoad) + 1;
    return std::bit_ceil(std::max<std::size_t>(slots, kTableWindow<Key>));
  }

  Scratch<Key> keys_;
  Scratch<std::uint32_t> counts_;
};

// In warpdrive.cpp.
template <>
const TableKernels<CountingTable<Key64>>& live_kernels(const Kernels& kernels);
template <>
const TableKernels<CountingTable<Key128>>& live_kernels(const Kernels& kernels);

}  // namespace warpmer::cpu
