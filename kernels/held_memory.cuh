#pragma once
/// What the process holds of a GPU's memory.

#include <cstdint>

#include "device_memory.cuh"

namespace warpmer::gpu {

/// Of the current device, what its pool has held at most since `forget_peak`, and what is in use beside it.
struct HeldBytes {
  std::uint64_t peak = 0;
  std::uint64_t beside = 0;
};
inline HeldBytes held_bytes() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free memory");
  std::uint64_t reserved = 0;
  HeldBytes held;
  const cudaMemPool_t pool = detail::current_pool();
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved),
        "asking the memory pool");
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &held.peak), "asking the memory pool");
  held.beside = total - free - reserved;
  return held;
}
/// Gives unused memory of the current device's pool back, and begins to look for the peak anew.
inline void forget_peak() {
  const cudaMemPool_t pool = detail::current_pool();
  check(cudaMemPoolTrimTo(pool, 0), "giving device memory back");
  std::uint64_t zero = 0;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &zero), "asking the memory pool");
}

}  // namespace warpmer::gpu
