#pragma once
/// The memory of a table of the slab hash as the table suite sees it: slots, slab after slab.

#include <cstdint>
#include <vector>

#include "table/slab.h"

namespace warpmer::tests {

/// In every eight slabs, one is a bucket's base, and seven are units of the allocator. The bitmaps of these
/// follow; they take as much room as a slab for each block of units. (SlabBuckets in schemes.h has the same
/// layout.)
template <class Key>
std::vector<table::CountSlab<Key>> empty_slabs(std::size_t slots) {
  using Slab = table::CountSlab<Key>;
  const std::size_t slabs = slots / Slab::kSlots;
  const std::size_t units = slabs / 8 * 7;
  static_assert(sizeof(Slab) == table::kBitmapWords * sizeof(std::uint32_t));
  std::vector<Slab> all(slabs + table::slab_blocks_for(units) + 1);
  for (std::size_t i = 0; i < slabs; ++i) table::make_empty(all[i]);
  auto* bitmaps = reinterpret_cast<std::uint32_t*>(all.data() + slabs);
  for (std::size_t i = 0; i < std::size_t{table::slab_blocks_for(units)} * table::kBitmapWords; ++i)
    bitmaps[i] = table::bitmap_at_first(units, i);
  *reinterpret_cast<table::SlabAllocState*>(&all.back()) = {};
  return all;
}

/// Erased keys keep their slots, and are reported as tombstones.
template <class Key>
std::vector<table::Slot<Key>> slots_in(const std::vector<table::CountSlab<Key>>& slabs) {
  std::vector<table::Slot<Key>> slots;
  for (const auto& slab : slabs) {
    for (int i = 0; i < slab.kSlots; ++i) {
      const bool erased = slab.keys[i] != table::kEmptyKey<Key> && slab.counts[i] == 0;
      slots.push_back({erased ? table::kTombstoneKey<Key> : slab.keys[i], slab.counts[i]});
    }
  }
  return slots;
}

}  // namespace warpmer::tests
