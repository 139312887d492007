#pragma once
/// A stage of a pipeline: what several threads make in any order leaves it in order.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace warpmer {

/// Usual part of a window for each thread, where a result is that of a batch.
inline constexpr std::uint64_t kResultsAhead = 4;

/// Takes results 0, 1, 2, ... from any thread and calls `consume` with one after the other, in order. There
/// is no thread of its own: the thread that puts the result that is next consumes it, and those behind it
/// that wait. When `consume` throws, the stage stops, and the thread that called it gets the exception.
template <typename T>
class OrderedStage {
 public:
  /// A result may be put when it is fewer than `window` places behind the next one to be consumed. This
  /// bounds how many wait in memory; with a window of 1 none does.
  OrderedStage(std::uint64_t window, std::function<void(T&&)> consume)
      : window_(window), consume_(std::move(consume)) {}

  /// Blocks while result `ordinal` is outside of the window. False when the stage has stopped.
  bool put(std::uint64_t ordinal, T&& result) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_stopped_ || ordinal < next_ + window_; });
    if (is_stopped_) return false;
    waiting_.emplace(ordinal, std::move(result));
    if (!is_consuming_) consume_waiting(lock);  // else the thread that consumes will find it
    return true;
  }

  /// Consumes a part of result `ordinal`, whose rest is put later by the same thread: for a result that is
  /// too large to wait in memory. Blocks until its turn has come. Returns false when the stage has stopped.
  bool put_part(std::uint64_t ordinal, T&& part) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return is_stopped_ || ordinal == next_; });
      if (is_stopped_) return false;
    }
    consume_or_stop(std::move(part));  // no other thread has the next result
    return true;
  }

  /// Ends the stage: nothing more is consumed, and no thread blocks any longer. This is for a team one of
  /// whose threads has failed: the result that it was to put would be waited for.
  void stop() noexcept {
    const std::scoped_lock lock(mutex_);
    is_stopped_ = true;
    changed_.notify_all();
  }

 private:
  void consume_waiting(std::unique_lock<std::mutex>& lock) {
    is_consuming_ = true;
    for (auto first = waiting_.find(next_); !is_stopped_ && first != waiting_.end();
         first = waiting_.find(next_)) {
      auto result = waiting_.extract(first);
      lock.unlock();
      consume_or_stop(std::move(result.mapped()));
      lock.lock();
      ++next_;
      changed_.notify_all();
    }
    is_consuming_ = false;
  }
  void consume_or_stop(T result) {
    try {
      consume_(std::move(result));
    } catch (...) {
      stop();
      throw;
    }
  }

  const std::uint64_t window_;
  const std::function<void(T&&)> consume_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::map<std::uint64_t, T> waiting_;
  std::uint64_t next_ = 0;  ///< to be consumed
  bool is_consuming_ = false;
  bool is_stopped_ = false;
};

}  // namespace warpmer
