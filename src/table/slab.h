#pragma once
/// The content of a slab: 128 bytes, of which 120 are for elements; then a word that nothing uses yet and the
/// address of the next slab, which are lanes 30 and 31 in the paper (Ashkiani et al. 2018, section IV-B).
///
///     64-bit keys with 32-bit counts, as arrays side by side      10     k-mers up to k = 32
///     128-bit keys with 32-bit counts, as arrays side by side      6     k-mers up to k = 64
///
/// Elements that are one word each, the paper's, are in bench/tables/slab_elements.h.

#include <cstddef>
#include <cstdint>

#include "kmer/kmer.h"
#include "kmer/platform.h"
#include "table/bucket_choice.h"
#include "table/slab_alloc.h"
#include "table/tile.h"

namespace warpmer::table {

inline constexpr std::size_t kElementBytes = 120;

/// Keys with counts beside them.
template <class KeyType>
struct alignas(kSlabBytes) CountSlab {
  using Key = KeyType;
  static constexpr bool kHasCounts = true;
  static constexpr int kSlots = kElementBytes / (sizeof(Key) + sizeof(std::uint32_t));

  Key keys[kSlots];
  std::uint32_t counts[kSlots];
  std::uint32_t auxiliary;
  SlabAddress next;

  WARPMER_HD Slots<Key> slots() { return {keys, counts}; }
};

static_assert(sizeof(CountSlab<std::uint64_t>) == kSlabBytes && CountSlab<std::uint64_t>::kSlots == 10);
static_assert(sizeof(CountSlab<Key128>) == kSlabBytes && CountSlab<Key128>::kSlots == 6);

/// A slab without elements and without a successor, which is what every base slab and every free unit holds.
template <class Slab>
WARPMER_HD void make_empty(Slab& slab) {
  const auto slots = slab.slots();
  for (int i = 0; i < Slab::kSlots; ++i) {
    slots.keys[i] = kEmptyKey<typename Slab::Key>;
    if constexpr (Slab::kHasCounts) slots.counts[i] = 0;
  }
  slab.auxiliary = 0;
  slab.next = kNoSlab;
}

}  // namespace warpmer::table
