#pragma once
/// Copies a few bytes between the device and pinned memory of the host.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/memory/device_memory.cuh"

namespace warpmer::gpu {

/// Enqueues a copy of so many words, by a kernel.
void launch_small_copy(std::uint32_t* to, const std::uint32_t* from, std::size_t words, cudaStream_t stream);

/// Copies between pinned memory of the host and memory of the device, in either direction, by a kernel. The
/// copy engines take large and small copies of all streams in the order in which they come, so that a small
/// copy would wait there for whole shards.
template <class T>
void copy_small(T* to, const T* from, std::size_t n, cudaStream_t stream) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::uint32_t) == 0);
  launch_small_copy(reinterpret_cast<std::uint32_t*>(to), reinterpret_cast<const std::uint32_t*>(from),
                    n * (sizeof(T) / sizeof(std::uint32_t)), stream);
}

}  // namespace warpmer::gpu
