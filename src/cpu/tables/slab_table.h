#pragma once
/// Slab hashes, in buckets that are ordered by hash: to count in, and for live tables.

#include <bit>
#include <cstddef>
#include <cstdint>

#include "cpu/memory/scratch.h"
#include "cpu/simd/kernels.h"
#include "cpu/tables/live_kernels.h"
#include "kmer/kmer.h"
#include "table/slab.h"
#include "table/slab_alloc.h"

namespace warpmer::cpu {

template <class Key>
struct SlabTable : TableNotes<Key> {
  table::CountSlab<Key>* slabs;  ///< one for each bucket, and then those that SlabAlloc hands out
  std::uint32_t buckets;
  std::uint64_t units;
  std::uint32_t* bitmaps;
  table::SlabAllocState* alloc_state;
  table::ResidentBlock resident;
};

/// Memory for a slab hash.
template <class Key>
class SlabMemory {
 public:
  using Table = SlabTable<Key>;
  using Slab = table::CountSlab<Key>;
  static constexpr double kLoad = 0.75;

  // As live tables want it (cpu/live/change_table.h).
  static std::size_t room_for(std::size_t keys) { return keys; }
  static std::uint64_t bytes_for(std::size_t keys) {
    const std::uint32_t buckets = buckets_for(keys, kLoad);
    return std::bit_ceil(std::size_t{buckets} + buckets / 4 + kLeastUnitsOfMany) * sizeof(Slab);
  }
  void lay_out(Table& table, std::size_t keys) { lay_out(table, keys, kLoad, kLeastUnitsOfMany); }

  /// Makes an empty table whose base slabs are filled to `load` by so many keys, with a slab more for every
  /// fourth bucket, and a few: at three quarters, about every sixth needs one.
  void lay_out(Table& table, std::size_t keys, double load, std::uint64_t least_units = kLeastUnits) {
    table.buckets = buckets_for(keys, load);
    table.units = table.buckets / 4 + least_units;
    table.slabs = slabs_.get(table.buckets + table.units);
    for (std::uint64_t i = 0; i < table.buckets + table.units; ++i) table::make_empty(table.slabs[i]);
    const std::size_t words = std::size_t{table::slab_blocks_for(table.units)} * table::kBitmapWords;
    table.bitmaps = bitmaps_.get(words);
    for (std::size_t i = 0; i < words; ++i) table.bitmaps[i] = table::bitmap_at_first(table.units, i);
    table.alloc_state = state_.get(1);
    *table.alloc_state = {};
    table.resident = {};
  }
  [[nodiscard]] std::uint64_t bytes() const { return slabs_.bytes() + bitmaps_.bytes() + state_.bytes(); }

 private:
  static std::uint32_t buckets_for(std::size_t keys, double load) {
    return static_cast<std::uint32_t>(static_cast<double>(keys) / (load * Slab::kSlots)) + 1;
  }
  static constexpr std::uint64_t kLeastUnits = 32, kLeastUnitsOfMany = 4;  ///< of many tables

  Scratch<Slab> slabs_;
  Scratch<std::uint32_t> bitmaps_;
  Scratch<table::SlabAllocState> state_;
};

// In slab.cpp.
template <>
const TableKernels<SlabTable<Key64>>& live_kernels(const Kernels& kernels);
template <>
const TableKernels<SlabTable<Key128>>& live_kernels(const Kernels& kernels);

}  // namespace warpmer::cpu
