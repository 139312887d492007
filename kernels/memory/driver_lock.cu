#include "base/shared_mutex.h"
#include "kernels/memory/driver_lock.cuh"

namespace warpmer::gpu {

namespace {

SharedMutex& driver_mutex() {
  static SharedMutex of_process;
  return of_process;
}

/// The number of locks that this thread is inside of, DriverLock::Exclusive included.
thread_local unsigned uses_of_thread = 0;

}  // namespace

DriverLock::Shared::Shared(cudaStream_t stream) : stream_(stream) {
  if (uses_of_thread++ == 0) driver_mutex().lock_shared();
}
DriverLock::Shared::~Shared() {
  if (--uses_of_thread == 0) driver_mutex().unlock_shared();
}

DriverLock::Exclusive::Exclusive() {
  driver_mutex().lock();
  ++uses_of_thread;
}
DriverLock::Exclusive::~Exclusive() {
  --uses_of_thread;
  driver_mutex().unlock();
}

}  // namespace warpmer::gpu
