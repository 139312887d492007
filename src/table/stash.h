#pragma once
/// A few slots behind a table of buckets, for the keys whose buckets are all full, so that one unlucky key
/// does not make the whole build start again (Starfish: Xiong et al. 2022, section 4.3; their stash has
/// about a hundred slots, one hash function and no way out of a collision. Ours is a WarpDrive table of four
/// windows: every slot can be reached, and a lookup stops at the first group that is not full).

#include "table/warpdrive.h"

namespace warpmer::table {

inline constexpr std::uint32_t kStashWindows = 4;
inline constexpr std::size_t kStashSlots = 32 * kStashWindows;  // 128: the paper's 108 and more

template <Tile T>
using Stash = WarpDrive<T, HashedWindows<T>>;

/// `slots`: kStashSlots of them, all empty at first. `seed`: the table's; the stash's function is another.
template <Tile T>
WARPMER_HD Stash<T> stash_in(Slots<typename T::Key> slots, std::uint32_t seed) {
  return Stash<T>(slots, HashedWindows<T>(kStashWindows, ~seed, kStashWindows));
}

}  // namespace warpmer::table
