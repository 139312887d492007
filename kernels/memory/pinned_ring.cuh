#pragma once
/// Pinned memory in parts that take turns: one is filled or emptied while the device copies the others.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/memory/host_fence.cuh"
#include "kernels/memory/pinned_pages.cuh"

namespace warpmer::gpu {

/// One thread uses it, with one stream. (Parts of 2 MiB, two on their way for each of sixteen threads, leave
/// the device at 50 GB/s; parts of 1 MiB at 44; parts of 364 KiB at 26.)
template <class T>
class PinnedRing {
 public:
  /// Makes parts of `size` elements, which are allocated at the first use.
  PinnedRing(std::size_t size, cudaStream_t stream) : size_(size), stream_(stream) {}

  /// Copies `n` elements from the device, and calls `take(elements, first, end)` for one stretch of them
  /// after the other. It calls `take` at least once, even if there are none.
  template <class Take>
  void receive(const T* from, std::size_t n, Take&& take) {
    make();
    const std::size_t most = size_ / kReceived;
    std::size_t first = 0, asked = 0;
    do {
      for (; asked < n && asked < first + kReceived * most; asked += std::min(most, n - asked)) {
        const std::size_t part = asked / most % kReceived;
        copy_to_host(memory_.data() + part * most, from + asked, std::min(most, n - asked), stream_);
        copied_[part].record(stream_);
      }
      const std::size_t part = first / most % kReceived, end = std::min(first + most, n);
      if (end > first) copied_[part].wait();
      take(static_cast<const T*>(memory_.data() + part * most), first, end);
      first = end;
    } while (first < n);
  }

  /// Begins to copy to the device.
  void begin_send(T* to) {
    make();
    to_ = to;
    filled_ = 0;
  }
  /// Appends `n` elements, whose memory may be used again at once. They may stand at any address: in data
  /// from a file, words of 16 bytes follow offsets of 4.
  void append(const void* elements, std::size_t n) {
    static_assert(std::is_trivially_copyable_v<T>);
    const char* from = static_cast<const char*>(elements);
    while (n > 0) {
      if (filled_ == 0) copied_[filling_].wait();
      const std::size_t some = std::min(n, most_sent() - filled_);
      std::memcpy(filling() + filled_, from, some * sizeof(T));
      filled_ += some;
      from += some * sizeof(T);
      n -= some;
      if (filled_ == most_sent()) flush();
    }
  }
  /// Enqueues the copy of all that has been appended.
  void flush() {
    if (filled_ == 0) return;
    copy_to_device(to_, filling(), filled_, stream_);
    copied_[filling_].record(stream_);
    to_ += filled_;
    filled_ = 0;
    filling_ = (filling_ + 1) % kSent;
  }

 private:
  /// Numbers of parts. Smaller parts from the device are still in the processor's caches; copies to the
  /// device are faster in larger parts.
  static constexpr std::size_t kReceived = 4, kSent = 2;
  void make() {
    if (!copied_.empty()) return;
    memory_ = PinnedPageArray<T>(size_);
    copied_ = std::vector<HostFence>(std::max(kReceived, kSent));
  }
  [[nodiscard]] std::size_t most_sent() const { return size_ / kSent; }
  [[nodiscard]] T* filling() const { return memory_.data() + filling_ * most_sent(); }

  const std::size_t size_;
  const cudaStream_t stream_;
  PinnedPageArray<T> memory_;
  std::vector<HostFence> copied_;  ///< one for each part
  T* to_ = nullptr;
  std::size_t filling_ = 0, filled_ = 0;
};

}  // namespace warpmer::gpu
