#pragma once
/// A lock that any number of threads share, or one has alone.

#include <atomic>
#include <mutex>
#include <shared_mutex>

namespace warpmer {

/// A std::shared_mutex in which threads that share it, and come and go, cannot keep one that wants it alone
/// waiting for ever, as they can where the C library prefers them: a thread that comes later waits until the
/// one that wants it alone has had it. No thread may take it a second time. To be used by std::shared_lock
/// and std::unique_lock.
class SharedMutex {
 public:
  void lock_shared() {
    if (is_wanted_alone_) {
      const std::lock_guard wait(turn_);
    }
    mutex_.lock_shared();
  }
  void unlock_shared() { mutex_.unlock_shared(); }

  void lock() {
    turn_.lock();
    is_wanted_alone_ = true;
    mutex_.lock();
  }
  void unlock() {
    mutex_.unlock();
    is_wanted_alone_ = false;
    turn_.unlock();
  }

 private:
  std::shared_mutex mutex_;
  std::mutex turn_;  ///< turn of threads that want it alone
  std::atomic<bool> is_wanted_alone_{false};
};

}  // namespace warpmer
