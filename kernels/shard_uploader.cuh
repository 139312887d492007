#pragma once
/// The way of an index's payloads to the device.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device_memory.cuh"

namespace warpmer::gpu {

/// One thread's way of copying to the device: while one pinned buffer is on its way, the other is filled.
class Uploader {
 public:
  Uploader() = default;
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;
  /// After an error, too, a copy may be under way from buffers that are about to go.
  ~Uploader() { cudaStreamSynchronize(stream_); }

  /// What is added from here on goes to `to` and behind.
  void begin(std::uint64_t* to) {
    flush();
    to_ = to;
  }
  void add(const std::uint64_t* words, std::size_t n) {
    while (n > 0) {
      if (filled_ == kWords) flush();
      if (filled_ == 0) copied_[turn_].wait();  // passed at once when it was never recorded
      const std::size_t some = std::min(n, kWords - filled_);
      std::memcpy(buffers_[turn_].data() + filled_, words, some * sizeof(std::uint64_t));
      filled_ += some;
      words += some;
      n -= some;
    }
  }
  void finish() {
    flush();
    stream_.wait();
  }

 private:
  static constexpr std::size_t kWords = std::size_t{1} << 18;  // pin small, reuse

  void flush() {
    if (filled_ == 0) return;
    copy_to_device(to_, buffers_[turn_].data(), filled_, stream_);
    copied_[turn_].record(stream_);
    to_ += filled_;
    filled_ = 0;
    turn_ ^= 1;
  }

  PinnedArray<std::uint64_t> buffers_[2] = {PinnedArray<std::uint64_t>(kWords),
                                            PinnedArray<std::uint64_t>(kWords)};
  Event copied_[2];
  Stream stream_;
  std::uint64_t* to_ = nullptr;
  std::size_t filled_ = 0;
  unsigned turn_ = 0;
};

}  // namespace warpmer::gpu
