#pragma once
/// Numbers of blocks: as many as items ask for, or as a GPU holds at once. Kernels whose blocks take one task
/// after another are launched with so many as that.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/memory/cuda_error.cuh"
#include "kernels/memory/driver_lock.cuh"

namespace warpmer::gpu {

/// Returns the bytes of shared memory that a block can have on the current device.
inline std::size_t shared_limit() {
  int device = 0, bytes = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "asking for shared memory");
  return static_cast<std::size_t>(bytes);
}

/// Returns the number of blocks of `threads` threads with `bytes` of dynamic shared memory, at least 1. From
/// then on the kernel may use all the shared memory there is: if only what this launch needs were allowed,
/// another thread could lower the limit before the launch.
template <class... Parameters>
std::uint32_t persistent_grid(void (*kernel)(Parameters...), std::uint32_t threads, std::size_t bytes) {
  const DriverLock::Shared use;
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), "looking at a kernel");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared_limit() - attributes.sharedSizeBytes)),
        "asking for shared memory");
  int device = 0, multiprocessors = 0, blocks = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
        "asking for the device");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads), bytes),
        "planning a launch");
  return static_cast<std::uint32_t>(multiprocessors * std::max(blocks, 1));
}

/// Returns the number of blocks for so many items, of which each block takes `per_block`.
constexpr std::uint32_t blocks_of(std::uint64_t items, std::uint32_t per_block) {
  return static_cast<std::uint32_t>((items + per_block - 1) / per_block);
}

/// Returns a number of blocks of `threads` threads for so many items, of which each block takes so many at
/// once: at least one, and no more than the device holds. The device is asked only once, because that takes
/// as long as a small launch.
template <auto kKernel>
std::uint32_t blocks_for(std::size_t items, std::size_t per_block, std::uint32_t threads) {
  static const std::uint32_t most = persistent_grid(kKernel, threads, 0);
  return static_cast<std::uint32_t>(std::clamp<std::size_t>((items + per_block - 1) / per_block, 1, most));
}

}  // namespace warpmer::gpu
