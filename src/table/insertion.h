#pragma once
/// What schemes answer.

#include "table/tile.h"

namespace warpmer::table {

/// What became of an insertion.
struct Insertion {
  bool placed;   ///< false: none of the key's slots is free, nothing was changed
  bool is_new;   ///< the key was not there before
  bool wrapped;  ///< the 32-bit count passed 2^32; the caller owes the key a carry
};

}  // namespace warpmer::table
