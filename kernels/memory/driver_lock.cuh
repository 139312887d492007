#pragma once
/// Decides when threads may give the CUDA driver work, and when they may not. This matters to ranks with
/// several GPUs.
///
/// NCCL moves data by a kernel on each GPU, and these kernels wait for each other. A process with several
/// GPUs starts its kernels one after another. In between, another thread may make a call that waits for a GPU
/// on which one of them runs, and that keeps the driver from starting the next one meanwhile. Then neither
/// would ever end. Such calls are many: to allocate, free or register pinned memory, or memory that several
/// GPUs reach, waits for all of these (NCCL, issues 48 and 744); the first launch of a kernel loads it, and
/// one that needs more local memory than there is gets more, for which the GPU has to be idle (CUDA
/// programming guide, "Lazy Loading"); no list of them is complete. Therefore every call that gives a GPU
/// work, or makes or unmakes memory, streams or events, is made under a DriverLock::Shared, and there is none
/// while kernels that wait for each other are being started (DriverLock::Exclusive).
///
/// Then no thread waits for ever. A call under a DriverLock::Shared waits, at most, for work that was given
/// to GPUs before it. If that is a kernel of NCCL, all kernels of its group on this process's GPUs have been
/// started. Other ranks start theirs by the same rule; of this process they need only the thread that starts
/// kernels, which has been here before. So one group ends after the other. Calls that only wait for a stream
/// or an event, or only ask, keep no thread from using the driver; they must not be made under a
/// DriverLock::Shared, because they may wait for groups that are still to be started.

#include <cuda_runtime.h>

namespace warpmer::gpu {

/// The lock of all threads of the process on the driver.
class DriverLock {
 public:
  /// While it lives, this thread uses the driver; the constructor waits while another thread is alone. It may
  /// be nested. In the place of a stream it lives until the work has been enqueued there:
  ///   kernel<<<blocks, threads, 0, DriverLock::Shared(stream)>>>(...);
  class Shared {
   public:
    explicit Shared(cudaStream_t stream = nullptr);
    ~Shared();
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    operator cudaStream_t() const { return stream_; }

   private:
    cudaStream_t stream_;
  };

  /// While it lives, only this thread, and those of libraries, use the driver; the constructor waits for
  /// threads that are using it. It must not be made inside of a DriverLock::Shared. A thread that waits for
  /// other ranks meanwhile must be the only one in the process: ranks as threads, which are for tests, have
  /// one GPU each.
  class Exclusive {
   public:
    Exclusive();
    ~Exclusive();
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;
  };
};

}  // namespace warpmer::gpu
