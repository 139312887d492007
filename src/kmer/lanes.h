#pragma once
/// What the lanes of a warp say to each other in source that a CPU compiles, too.

#include <cstdint>

#include "kmer/platform.h"

namespace warpmer {

/// Lanes of a warp that do something together; on a CPU a thread by itself.
///
/// Behind a loop that takes one lane longer than the other they meet. Without that a compiler may let each go
/// its own way from there to the end, one after the other. (Measured on an H200, lookups at k = 21: six of 32
/// lanes were at work, and it took twice as long.)
class Lanes {
 public:
#if defined(__CUDA_ARCH__)
  /// All lanes of the mask make it, and call the other functions, together.
  WARPMER_HD explicit Lanes(std::uint32_t mask) : mask_(mask) {}
  /// Returns those of the lanes for which it is true. The lanes meet.
  WARPMER_HD Lanes those(bool is_one) const { return Lanes(__ballot_sync(mask_, is_one)); }
  /// Says whether it is true for any. The lanes meet.
  WARPMER_HD bool any(bool is_one) const { return __any_sync(mask_, is_one); }
  WARPMER_HD void meet() const { __syncwarp(mask_); }
#else
  explicit Lanes(std::uint32_t mask) : mask_(mask) {}
  [[nodiscard]] Lanes those(bool is_one) const { return Lanes(is_one ? mask_ : 0); }
  [[nodiscard]] static bool any(bool is_one) { return is_one; }
  static void meet() {}
#endif

 private:
  std::uint32_t mask_;
};

}  // namespace warpmer
