#pragma once
/// Requests that change a table wait here for their turn.

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/error.h"

namespace warpmer::serve {

/// So many requests have a turn at once. When the server is stopped, those that wait for one are refused: a
/// table with many clients would make its end wait for all of them. Thread-safe.
class ChangeTurns {
 public:
  explicit ChangeTurns(unsigned most) : free_(most) {}

  class OneTurn {
   public:
    /// Waits. ResourceError when the server is stopped.
    explicit OneTurn(ChangeTurns& turns) : turns_(turns) { turns_.begin(); }
    ~OneTurn() { turns_.end(); }
    OneTurn(const OneTurn&) = delete;
    OneTurn& operator=(const OneTurn&) = delete;

   private:
    ChangeTurns& turns_;
  };

  void stop() {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    moved_.notify_all();
  }
  [[nodiscard]] bool is_stopped() const { return is_stopped_; }

 private:
  void begin() {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return free_ > 0 || is_stopped_; });
    if (is_stopped_) throw ResourceError("the server has been stopped");
    --free_;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ++free_;
    moved_.notify_one();
  }

  std::mutex mutex_;  ///< held to change what follows
  std::condition_variable moved_;
  unsigned free_;
  std::atomic<bool> is_stopped_{false};
};

}  // namespace warpmer::serve
