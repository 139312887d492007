#pragma once
/// Results of several threads, put back in order.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace warpmer::engine {

/// Takes results 0, 1, 2, ... in any order from any thread and hands them on in order, one at a time.
template <typename T>
class InOrder {
 public:
  /// `window`: how far a result may be ahead of the next one to hand on; bounds what waits in memory.
  InOrder(std::uint64_t window, std::function<void(T&&)> consume)
      : window_(window), consume_(std::move(consume)) {}

  /// Blocks while `ordinal` is too far ahead; returns at once after `stop`.
  void put(std::uint64_t ordinal, T&& result) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return stopped_ || ordinal < next_ + window_; });
    waiting_.emplace(ordinal, std::move(result));
    if (busy_) {
      return;  // the thread that is handing on will find it
    }
    busy_ = true;
    while (!stopped_) {
      auto found = waiting_.find(next_);
      if (found == waiting_.end()) {
        break;
      }
      T current = std::move(found->second);
      waiting_.erase(found);
      lock.unlock();
      consume_(std::move(current));
      lock.lock();
      ++next_;
      room_.notify_all();
    }
    busy_ = false;
  }

  /// Nothing is handed on any more and nobody blocks.
  void stop() noexcept {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    room_.notify_all();
  }

 private:
  const std::uint64_t window_;
  const std::function<void(T&&)> consume_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::map<std::uint64_t, T> waiting_;
  std::uint64_t next_ = 0;
  bool busy_ = false;
  bool stopped_ = false;
};

}  // namespace warpmer::engine
