#pragma once
/// Words between the lanes of a warp, in source that a CPU compiles, too.

#include <cstdint>

#include "kmer/platform.h"

namespace warpmer {

/// Lanes of a warp that do something together; on a CPU a thread by itself.
///
/// Lanes leave a loop at different times. They meet behind it: otherwise a compiler may let each go its own
/// way from there to the end, one after the other. (Measured on an H200, lookups at k = 21: six of 32 lanes
/// were at work, and it took twice as long.)
class Lanes {
 public:
  /// All lanes of the mask construct it, and call the other functions, together.
  WARPMER_HD explicit Lanes(std::uint32_t mask) : mask_(mask) {}

  /// Returns those of the lanes for which it is true. The lanes meet.
  WARPMER_HD Lanes those(bool is_true) const {
#if defined(__CUDA_ARCH__)
    return Lanes(__ballot_sync(mask_, is_true));
#else
    return Lanes(is_true ? mask_ : 0);
#endif
  }
  /// Says whether it is true for any. The lanes meet.
  WARPMER_HD bool any(bool is_true) const {
#if defined(__CUDA_ARCH__)
    return __any_sync(mask_, is_true);
#else
    return is_true;
#endif
  }
  WARPMER_HD void meet() const {
#if defined(__CUDA_ARCH__)
    __syncwarp(mask_);
#endif
  }

 private:
  std::uint32_t mask_;
};

}  // namespace warpmer
