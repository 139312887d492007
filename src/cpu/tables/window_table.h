#pragma once
/// WarpDrive tables whose windows are ordered by hash: to count in, and for live tables.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "cpu/memory/scratch.h"
#include "cpu/simd/kernels.h"
#include "cpu/tables/live_kernels.h"
#include "kmer/kmer.h"
#include "table/tile.h"

namespace warpmer::cpu {

/// Slots per window.
template <class Key>
inline constexpr int kTableWindow = sizeof(Key) == 8 ? 8 : 4;

template <class Key>
struct WindowTable : TableNotes<Key> {
  table::Slots<Key> slots;
  std::uint32_t window_bits;
};

/// Memory for one.
template <class Key>
class WindowMemory {
 public:
  using Table = WindowTable<Key>;
  static constexpr double kLoad = 0.75;

  // As live tables want it (cpu/live/change_table.h).
  static std::size_t room_for(std::size_t keys) {
    return static_cast<std::size_t>(static_cast<double>(slots_for(keys)) * kLoad);
  }
  static std::uint64_t bytes_for(std::size_t keys) {
    return slots_for(keys) * (sizeof(Key) + sizeof(std::uint32_t));
  }

  /// Makes an empty table that keeps below kLoad with so many keys.
  void lay_out(Table& table, std::size_t keys, double /*load*/ = kLoad) {
    const std::size_t slots = slots_for(keys);
    table.window_bits = static_cast<std::uint32_t>(std::bit_width(slots / kTableWindow<Key>) - 1);
    table.slots = {keys_.get(slots), counts_.get(slots)};
    std::fill_n(table.slots.keys, slots, table::kEmptyKey<Key>);
    std::fill_n(table.slots.counts, slots, 0u);
  }
  [[nodiscard]] std::uint64_t bytes() const { return keys_.bytes() + counts_.bytes(); }

 private:
  static std::size_t slots_for(std::size_t keys) {
    const auto slots = static_cast<std::size_t>(std::ceil(static_cast<double>(keys) / kLoad));
    return std::bit_ceil(std::max<std::size_t>(slots, kTableWindow<Key>));
  }

  Scratch<Key> keys_;
  Scratch<std::uint32_t> counts_;
};

// In warpdrive.cpp.
template <>
const TableKernels<WindowTable<Key64>>& live_kernels(const Kernels& kernels);
template <>
const TableKernels<WindowTable<Key128>>& live_kernels(const Kernels& kernels);

}  // namespace warpmer::cpu
