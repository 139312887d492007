#pragma once
/// How far something has come.

#include <cstdint>

namespace warpmer {

/// How much of a whole there is, in parts that are about alike: k-mers, rows, bytes of input.
struct Share {
  std::uint64_t done = 0;
  std::uint64_t total = 0;  ///< 0: not known
};

}  // namespace warpmer
