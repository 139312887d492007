#pragma once
/// Says how far something has come.

#include <cstdint>

namespace warpmer {

/// The part of a whole that is done, counted in parts that are about alike: k-mers, rows, bytes of input.
struct Progress {
  std::uint64_t done = 0;
  std::uint64_t total = 0;  ///< 0: not known
};

}  // namespace warpmer
