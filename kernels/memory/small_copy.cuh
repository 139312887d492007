#pragma once
/// Copies of a few bytes between the device and pinned memory of the host.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/memory/device_memory.cuh"

namespace warpmer::gpu {

/// Enqueues a copy of so many words, by a kernel.
void launch_small_copy(std::uint32_t* to, const std::uint32_t* from, std::size_t words, cudaStream_t stream);

/// Either is pinned memory of the host, the other of the device. The engines that copy take what is large and
/// what is small in the order in which it comes, of all streams: there, this would wait for whole shards.
template <class T>
void copy_small(T* to, const T* from, std::size_t n, cudaStream_t stream) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::uint32_t) == 0);
  launch_small_copy(reinterpret_cast<std::uint32_t*>(to), reinterpret_cast<const std::uint32_t*>(from),
                    n * (sizeof(T) / sizeof(std::uint32_t)), stream);
}

}  // namespace warpmer::gpu
