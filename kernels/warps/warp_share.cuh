#pragma once
/// Shares the elements of a warp's lanes out evenly among all lanes.

#include <cstdint>

#include "kernels/warps/warp_scan.cuh"

namespace warpmer::gpu {

/// All 32 lanes make it together, each with a number of elements of its own; lanes with none come last.
class WarpShare {
 public:
  __device__ explicit WarpShare(std::uint32_t elements)
      : elements_(elements), before_(warp_inclusive_sum(elements) - elements) {
    total_ = __shfl_sync(~0u, before_ + elements_, 31);
  }

  /// Returns the number of elements of the lanes before this one.
  [[nodiscard]] __device__ std::uint32_t before() const { return before_; }

  /// Calls `work(owner, number, is_there)` on all lanes together, neighbouring lanes with neighbouring
  /// elements: `owner` is the lane that the element is from, and `number` its number among all elements. If
  /// it is not there, the lane only takes part in exchanges between lanes.
  template <class Work>
  __device__ void for_each(Work&& work) const {
    const std::uint32_t lane = threadIdx.x % 32;
    std::uint32_t begun = 0;  // lanes whose elements have begun
    for (std::uint32_t t = 0; t < total_; t += 32) {
      const bool begins_here = elements_ > 0 && before_ - t < 32;
      const std::uint32_t bits = __reduce_or_sync(~0u, begins_here ? 1u << (before_ - t) : 0u);
      const std::uint32_t owner = begun + __popc(bits & (~0u >> (31 - lane))) - 1;
      begun += __popc(bits);
      work(owner, t + lane, t + lane < total_);
    }
  }

 private:
  std::uint32_t elements_, before_, total_;
};

}  // namespace warpmer::gpu
