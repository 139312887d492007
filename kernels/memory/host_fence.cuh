#pragma once
/// Waits for a stream without asking the driver.

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "kernels/memory/device_memory.cuh"

namespace warpmer::gpu {

namespace detail {

/// Tells the processor that this thread only waits for a moment.
inline void relax() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace detail

/// Says whether streams of a GPU can do what a HostFence asks of them; true where the driver does not know.
/// Never throws.
[[nodiscard]] bool has_host_fences(int ordinal);

/// A mark in a stream, as an Event is, for which one thread waits: the stream writes a number to pinned host
/// memory when it gets there, and the thread looks at that. The driver holds one lock when it is asked and
/// when it is given work; if many threads ask again and again, those that have work for the device wait for
/// them. (Counting with a cap of a quarter of the index took 0.31 s so, and takes 0.23.) A stream can write,
/// but wakes no thread: the thread that waits has to look, and naps in between.
class HostFence {
 public:
  /// A GPU must be current.
  HostFence() { number_.data()[0] = 0; }

  /// Records the mark in a stream of the current GPU. Work that was enqueued in the stream before has been
  /// done when the fence has passed. Another stream than before may be used only after `wait`.
  void record(cudaStream_t stream) {
    stream_ = stream;
    write_when_reached(stream);
  }
  /// Waits until the fence has passed; returns at once if it was never recorded. Throws as `check`
  /// (kernels/memory/cuda_error.cuh) does when the device has failed.
  void wait() const {
    const auto start = std::chrono::steady_clock::now();
    for (unsigned turn = 0; !has_passed(); ++turn) {
      if (turn < kTurnsAwake) {
        detail::relax();
        continue;
      }
      const auto waited = std::chrono::steady_clock::now() - start;
      if (waited < kAwake) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(kNap);
        if (turn % kTurnsUntilAsked == 0) look_for_errors();
      }
    }
  }

 private:
  [[nodiscard]] bool has_passed() const {
    return std::atomic_ref(number_.data()[0]).load(std::memory_order_acquire) >= last_;
  }
  void write_when_reached(cudaStream_t stream);
  void look_for_errors() const;

  /// When threads stayed awake for 200 us instead, updates took 3 to 10 % longer and two to three seconds
  /// more of CPU time.
  static constexpr unsigned kTurnsAwake = 64, kTurnsUntilAsked = 256;
  static constexpr std::chrono::microseconds kAwake{20}, kNap{50};

  PinnedArray<std::uint64_t> number_{1};
  std::uint64_t last_ = 0;
  cudaStream_t stream_ = nullptr;
};

}  // namespace warpmer::gpu
