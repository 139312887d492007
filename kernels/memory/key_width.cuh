#pragma once
/// Says whether a GPU can count k-mers of some length.

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "base/error.h"
#include "kernels/memory/cuda_error.cuh"
#include "kmer/kmer.h"

namespace warpmer::gpu {

/// Throws the ResourceError for k-mers that a GPU cannot count: keys of 128 bits are claimed by one compare
/// and swap, which GPUs before compute capability 9.0 do not have.
inline void check_key_width(std::uint32_t k, int gpu) {
  if (k <= kMaxNarrowK) return;
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, gpu), "asking for the GPU");
  if (properties.major >= 9) return;
  throw ResourceError("k = " + std::to_string(k) +
                      " needs a GPU of compute capability 9.0, and cuda:" + std::to_string(gpu) + " (" +
                      properties.name + ") has " + std::to_string(properties.major) + "." +
                      std::to_string(properties.minor) + "; use --device cpu");
}

}  // namespace warpmer::gpu
