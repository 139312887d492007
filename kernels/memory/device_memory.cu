#include <map>
#include <mutex>

#include "kernels/memory/current_device.cuh"
#include "kernels/memory/device_memory.cuh"

namespace warpmer::gpu {

cudaStream_t memory_stream() {
  // Before the mutex: a thread that is alone with the driver may want a stream, too.
  const DriverLock::Shared use;
  static std::mutex mutex;
  static auto& streams = *new std::map<int, Stream>;
  const std::lock_guard lock(mutex);
  return streams[current_gpu()];
}

}  // namespace warpmer::gpu
