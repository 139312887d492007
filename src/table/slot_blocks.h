#pragma once
/// Slots in blocks: the keys of a few adjacent slots, and then their counts, in 64 bytes. One access to
/// memory brings a key with its count; from two arrays side by side (`Slots`) it takes two.
///
///     64-bit keys with 32-bit counts      5 slots      k-mers up to k = 32
///     128-bit keys with 32-bit counts     3 slots      k-mers up to k = 64

#include <cstddef>
#include <cstdint>

#include "kmer/platform.h"
#include "table/tile.h"

namespace warpmer::table {

inline constexpr std::size_t kSlotBlockBytes = 64;

template <class KeyType>
struct alignas(kSlotBlockBytes) CountBlock {
  using Key = KeyType;
  static constexpr int kSlots = kSlotBlockBytes / Slots<Key>::kBytes;

  Key keys[kSlots];
  std::uint32_t counts[kSlots];
  std::uint32_t unused;

  WARPMER_HD Slots<Key> slots() { return {keys, counts}; }
};

static_assert(sizeof(CountBlock<std::uint64_t>) == kSlotBlockBytes && CountBlock<std::uint64_t>::kSlots == 5);

/// A block without keys.
template <class Key>
WARPMER_HD void make_empty(CountBlock<Key>& block) {
  for (int i = 0; i < block.kSlots; ++i) block.slots().write(i, {kEmptyKey<Key>, 0});
  block.unused = 0;
}

/// The slots of blocks that follow one another, in the place of `Slots` of a whole table. A tile that works
/// on them is as wide as a block.
template <class KeyType>
struct SlotBlocks {
  using Key = KeyType;
  using Block = CountBlock<Key>;

  Block* blocks;

  /// Returns the slot, and those behind it in its block.
  [[nodiscard]] WARPMER_HD Slots<Key> at(std::size_t slot) const {
    return blocks[slot / Block::kSlots].slots().at(slot % Block::kSlots);
  }
  /// Returns a block.
  template <int Width>
  [[nodiscard]] WARPMER_HD Slots<Key> group(std::uint32_t number) const {
    static_assert(Width == Block::kSlots);
    return blocks[number].slots();
  }
  // While no other tile writes to the slot.
  [[nodiscard]] WARPMER_HD Slot<Key> read(std::size_t slot) const { return at(slot).read(0); }
};

}  // namespace warpmer::table
