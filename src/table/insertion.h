#pragma once
/// What schemes answer.

#include <cstddef>
#include <cstdint>

#include "table/tile.h"

namespace warpmer::table {

/// What became of an insertion.
struct Insertion {
  bool placed;   ///< false: none of the key's slots is free, nothing was changed
  bool is_new;   ///< the key was not there before
  bool wrapped;  ///< the 32-bit count passed 2^32; the caller owes the key a carry
};

/// What a lookup found.
struct Found {
  std::ptrdiff_t slot;  ///< -1: the key is not there
  std::uint32_t count;  ///< 0 when it is not there, or was not asked for
};

/// What became of an insertion by a scheme that moves keys to make room.
template <class Key>
struct Displacement {
  Insertion insertion;  ///< not placed: the table lacks `homeless`, and has everything else
  Slot<Key> homeless;   ///< the key that was left over, the inserted one or another, with its count
};

}  // namespace warpmer::table
