#pragma once
/// A gate through which any number of threads go in and out, until one closes it to be alone inside.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace warpmer {

/// Who closes it waits for those inside only: who comes later waits outside, so that coming and going cannot
/// keep it open for ever. Open, it costs two atomic operations to go in and one to go out. Nobody may go in a
/// second time, or close it, while inside.
class Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Waits while it is closed.
  void go_in() {
    // Sequentially consistent, as in `close`: either this thread sees that it is closed, or who has closed it
    // sees this thread inside.
    inside_.fetch_add(1);
    if (!is_closed_.load()) return;
    go_out();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !is_closed_.load(); });
    inside_.fetch_add(1);
  }
  void go_out() {
    if (inside_.fetch_sub(1) > 1 || !is_closed_.load()) return;
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

  /// Waits until all are out; before that, if somebody else has closed it, for that one to open it.
  void close() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !is_closed_.load(); });
    is_closed_.store(true);
    changed_.wait(lock, [&] { return inside_.load() == 0; });
  }
  /// By who has closed it.
  void open() {
    const std::lock_guard lock(mutex_);
    is_closed_.store(false);
    changed_.notify_all();
  }

 private:
  std::atomic<std::uint32_t> inside_{0};  ///< and, for a moment, those who find it closed
  std::atomic<bool> is_closed_{false};    ///< changes under the lock only
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace warpmer
