#pragma once
/// Counts bins in a table of one scheme. Each scheme has a file of its own (count_*.cu), so that none takes
/// long to compile.

#include <cstdint>

#include "kernels/count/count.cuh"

namespace warpmer::gpu {

/// Counts with keys and words of one width; the functions are `launch_count` and `largest_slot_bits`.
template <class Key, int Words>
struct CountKernel {
  std::uint32_t (*largest_slot_bits)();
  void (*launch)(const CountTask<Key, Words>&, const CountTuning&, cudaStream_t);
};

struct CountKernels {
  CountKernel<Key64, 2> narrow;
  CountKernel<Key128, 2> wide;
  CountKernel<Key128, 4> wide_long;

  template <class Key, int Words>
  [[nodiscard]] const CountKernel<Key, Words>& of() const {
    if constexpr (sizeof(Key) == 8) {
      return narrow;
    } else if constexpr (Words == 2) {
      return wide;
    } else {
      return wide_long;
    }
  }
};

extern const CountKernels kCountHashGraph;
#define WARPMER_ENTRY(name) extern const CountKernels kCount_##name;
WARPMER_COUNT_SCHEMES(WARPMER_ENTRY)
#undef WARPMER_ENTRY

}  // namespace warpmer::gpu
