#pragma once
/// The answers that schemes give.

#include <cstddef>
#include <cstdint>

#include "table/tile.h"

namespace warpmer::table {

/// The outcome of an insertion.
struct Insertion {
  bool placed;   ///< false: none of the key's slots is free, nothing was changed
  bool is_new;   ///< the key was not there before
  bool wrapped;  ///< the 32-bit count passed 2^32; the caller owes the key a carry
};

/// The slot that is a key's after it was looked for, and claimed where it was not there.
struct TakenSlot {
  std::ptrdiff_t slot;  ///< -1: the key is not there, and no slot that it may have is free
  bool is_new;          ///< the key was not there before
};

/// The outcome of a lookup.
struct Found {
  std::ptrdiff_t slot;  ///< -1: the key is not there
  std::uint32_t count;  ///< 0 when it is not there, or was not asked for
};

/// The outcome of an insertion by a scheme that moves keys to make room.
template <class Key>
struct Displacement {
  Insertion insertion;  ///< not placed: the table lacks `overflow`, and has everything else
  Slot<Key> overflow;   ///< the key that was left over, the inserted one or another, with its count
};

}  // namespace warpmer::table
