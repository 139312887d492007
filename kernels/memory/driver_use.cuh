#pragma once
/// When threads may give the CUDA driver work, and when they may not, which matters to ranks with several
/// GPUs.
///
/// NCCL moves data by a kernel on each GPU, and these wait for each other. A process with several GPUs starts
/// its own one after another. Were another thread, in between, to make a call that waits for a GPU on which
/// one of them runs, and that keeps the driver from starting the next meanwhile, neither would ever end. Such
/// calls are many: to allocate, free or register pinned memory, or memory that several GPUs reach, waits for
/// all of these (NCCL, issues 48 and 744); the first launch of a kernel loads it, and one that needs more
/// local memory than there is gets more, for which the GPU has to be idle (CUDA programming guide, "Lazy
/// Loading"); no list of them is complete. Therefore every call that gives a GPU work, or makes or unmakes
/// memory, streams or events, is made as a DriverLock::Shared, and while kernels that wait for each other are
/// being started there is none (DriverLock::Exclusive).
///
/// Nobody waits for ever then. A DriverLock::Shared waits, at most, for work that was given to GPUs before
/// it. If that is a kernel of NCCL, all of its group on this process's GPUs have been started, and other
/// ranks start theirs by the same rule, for which they need nobody here but the thread that starts kernels,
/// which has been here before. So one group ends after the other. Calls that only wait for a stream or an
/// event, or only ask, keep nobody from using the driver; they must be no DriverLock::Shared, for they may
/// wait for groups that are still to be started.

#include <cuda_runtime.h>

namespace warpmer::gpu {

/// The lock of all threads of the process on the driver.
class DriverLock {
 public:
  /// For as long as it lives, this thread uses the driver; it waits while another thread is alone. May be
  /// nested. In the place of a stream it lives until what goes there has been enqueued:
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

  /// For as long as it lives, this thread alone, and those of libraries, use the driver; it waits for those
  /// that are at it. Not to be made inside of a DriverLock::Shared. A thread that waits for other ranks
  /// meanwhile must be the only one in the process: ranks as threads, which are for tests, have one GPU each.
  class Exclusive {
   public:
    Exclusive();
    ~Exclusive();
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;
  };
};

}  // namespace warpmer::gpu
