#pragma once
/// Two pinned buffers that take turns: one is filled or emptied while the device copies the other.

#include <algorithm>
#include <cstddef>

#include "host_fence.cuh"
#include "pinned_pages.cuh"

namespace warpmer::gpu {

/// For one thread, with one stream.
template <class T>
class PinnedPair {
 public:
  PinnedPair(std::size_t size, cudaStream_t stream) : size_(size), stream_(stream) {}

  /// Copies `n` elements from the device, and calls `take(elements, first, end)` for one stretch of them
  /// after the other: once at least, also of none.
  template <class Take>
  void receive(const T* from, std::size_t n, Take&& take) {
    const auto fetch = [&](std::size_t first) {
      Buffer& buffer = next();
      copy_to_host(buffer.memory.data(), from + first, std::min(size_, n - first), stream_);
      buffer.copied.record(stream_);
      return &buffer;
    };
    Buffer* here = fetch(0);
    for (std::size_t first = 0; here != nullptr; first += size_) {
      const std::size_t end = std::min(first + size_, n);
      Buffer* const coming = end < n ? fetch(end) : nullptr;
      here->copied.wait();
      take(here->memory.data(), first, end);
      here = coming;
    }
  }

  /// Begins to copy to the device.
  void begin_send(T* to) {
    to_ = to;
    filling_ = nullptr;
  }
  /// Appends elements, which may be used again at once.
  void append(const T* elements, std::size_t n) {
    while (n > 0) {
      if (filling_ == nullptr) {
        filling_ = &next();
        filling_->copied.wait();
        filled_ = 0;
      }
      const std::size_t some = std::min(n, size_ - filled_);
      std::copy_n(elements, some, filling_->memory.data() + filled_);
      filled_ += some;
      elements += some;
      n -= some;
      if (filled_ == size_) flush();
    }
  }
  /// Enqueues the copy of all that has been appended.
  void flush() {
    if (filling_ == nullptr) return;
    copy_to_device(to_, filling_->memory.data(), filled_, stream_);
    filling_->copied.record(stream_);
    to_ += filled_;
    filling_ = nullptr;
  }

 private:
  struct Buffer {
    PinnedPageArray<T> memory;
    HostFence copied;
  };

  Buffer& next() {
    Buffer& buffer = buffers_[number_++ % 2];
    buffer.memory.reserve(size_);
    return buffer;
  }

  const std::size_t size_;
  const cudaStream_t stream_;
  Buffer buffers_[2];
  std::size_t number_ = 0;
  T* to_ = nullptr;
  Buffer* filling_ = nullptr;
  std::size_t filled_ = 0;
};

}  // namespace warpmer::gpu
