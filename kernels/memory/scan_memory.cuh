#pragma once
/// Memory that CUB's functions for a whole device ask for.

#include <cstddef>

#include "kernels/memory/device_memory.cuh"

namespace warpmer::gpu {

/// Takes room for `size` elements, with some to spare where memory grows. What the array had is lost then, so
/// work on it is waited for.
template <class T>
void make_room(DeviceArray<T>& array, std::size_t size, cudaStream_t stream) {
  if (size <= array.size()) return;
  check(cudaStreamSynchronize(stream), "waiting for the GPU");
  array.reserve(size + size / 8);
}

class ScanMemory {
 public:
  /// Calls `call(memory, bytes, stream)` twice: with no memory, to be told how much it needs, and with it.
  /// The first one looks at the kernel, which may load it.
  template <class Call>
  void run(const char* doing, cudaStream_t stream, Call&& call) {
    std::size_t bytes = 0;
    check(call(nullptr, bytes, DriverLock::Shared(stream)), doing);
    make_room(memory_, bytes, stream);
    bytes = memory_.size();
    check(call(memory_.data(), bytes, DriverLock::Shared(stream)), doing);
  }

 private:
  DeviceArray<char> memory_;
};

}  // namespace warpmer::gpu
