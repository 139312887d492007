#pragma once
/// The GPU memory that the process holds, and may hold.

#include <algorithm>
#include <cstdint>
#include <exception>
#include <vector>

#include "base/error.h"
#include "kernels/memory/current_device.cuh"
#include "kernels/memory/device_memory.cuh"

namespace warpmer::gpu {

/// Memory of the current device: the most that its pool has held since `forget_peak`, and the memory in use
/// beside it.
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
/// Gives unused memory of the current device's pool back, and forgets the peak so far.
inline void forget_peak() {
  const DriverLock::Shared use;
  const cudaMemPool_t pool = detail::current_pool();
  check(cudaMemPoolTrimTo(pool, 0), "giving device memory back");
  std::uint64_t zero = 0;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &zero), "asking the memory pool");
}

/// Gives unused memory of a GPU's pool back to others, once what is being freed has been; where that fails,
/// the pool keeps it.
inline void give_back_unused(int gpu) noexcept {
  try {
    const CurrentDevice current(gpu);
    check(cudaStreamSynchronize(memory_stream()), "giving device memory back");
    const DriverLock::Shared use;
    check(cudaMemPoolTrimTo(detail::current_pool(), 0), "giving device memory back");
  } catch (const std::exception&) {
    // The GPU has failed, which its job has told.
  }
}

/// Returns the memory of each GPU that a job may take unasked: that of the GPU with the least. A GPU that is
/// named several times is shared.
inline std::uint64_t usable_bytes_of_each(const std::vector<int>& gpus) {
  std::uint64_t least = UINT64_MAX;
  for (const int gpu : gpus) {
    const CurrentDevice current(gpu);
    const auto sharers = static_cast<std::uint64_t>(std::count(gpus.begin(), gpus.end(), gpu));
    least = std::min(least, usable_bytes() / sharers);
  }
  return least;
}

/// Returns the memory that a job that asks for so much (--device-memory; 0: unasked) may hold on the current
/// device. Throws a ResourceError when it asks for more than can be had.
inline std::uint64_t device_cap(std::uint64_t asked_bytes) {
  if (asked_bytes == 0) return usable_bytes();
  if (const std::uint64_t available = available_bytes(); asked_bytes > available) {
    throw ResourceError("--device-memory allows " + megabytes(asked_bytes) + ", but only " +
                        megabytes(available) + " of the GPU's memory are free");
  }
  return asked_bytes;
}
/// The size of the pieces in which the pool takes memory.
inline constexpr std::uint64_t kPoolPiece = std::uint64_t{32} << 20;
/// Returns the part of a cap that can be planned with. The pool takes memory in pieces, and has holes, which
/// are larger if there are segments: with a 16th left for them it held 1504 MiB of 1488, with an eighth at
/// most 1408.
constexpr std::uint64_t planned_with(std::uint64_t cap_bytes) {
  const std::uint64_t part = cap_bytes / 32, most_more = std::uint64_t{512} << 20;
  return cap_bytes - part - (3 * part < most_more ? 3 * part : most_more);
}
/// Return the same for the whole pieces in a cap, which may be few, and the least cap of whole pieces with
/// which so much can be planned.
constexpr std::uint64_t planned_in_pieces(std::uint64_t cap_bytes) {
  return planned_with(cap_bytes / kPoolPiece * kPoolPiece);
}
constexpr std::uint64_t cap_in_pieces(std::uint64_t planned_bytes) {
  std::uint64_t cap = planned_bytes / kPoolPiece * kPoolPiece;
  while (planned_with(cap) < planned_bytes) cap += kPoolPiece;
  return cap;
}

}  // namespace warpmer::gpu
