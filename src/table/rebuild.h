#pragma once
/// Starting again: when a table has failed (a key found no place), its owner builds another, with another
/// hash function (Juenger et al. 2018, section II; Awad et al. 2023, section 3.2). Which seeds are tried and
/// where entries come from is the owner's; what all of them need is here.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "table/tile.h"

namespace warpmer::table {

/// Calls `visit(Slot<Key>)` with every entry that lies in slots `first`, `first` + `stride`, ... below
/// `size`: keys with their counts; neither empty slots nor tombstones. No thread may write to them meanwhile.
/// On GPUs a group of lanes calls it with its own `first`; what is visited is the same on all lanes.
template <class Key, class Visit>
WARPMER_HD void for_each_entry(Slots<Key> slots, std::size_t size, std::size_t first, std::size_t stride,
                               Visit&& visit) {
  for (std::size_t i = first; i < size; i += stride) {
    const Slot<Key> entry = slots.read(i);
    if (entry.key != kEmptyKey<Key> && entry.key != kTombstoneKey<Key>) visit(entry);
  }
}

/// Calls `build(seed)` with one seed after another, from `first` on, `attempts` of them at most, until it
/// returns true: that seed; none when no build came to an end. Errors of `build` pass through.
template <class Build>
std::optional<std::uint32_t> first_seed_that_builds(std::uint32_t first, std::uint32_t attempts,
                                                    Build&& build) {
  for (std::uint32_t i = 0; i < attempts; ++i) {
    if (build(first + i)) return first + i;
  }
  return std::nullopt;
}

}  // namespace warpmer::table
