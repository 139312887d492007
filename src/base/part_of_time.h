#pragma once
/// Work that may wait, and is to take no more than a part of the time.

#include <atomic>
#include <chrono>
#include <cstdint>

namespace warpmer {

/// Thread-safe.
class PartOfTime {
 public:
  /// It may take one of so many parts of the time that passes.
  explicit PartOfTime(unsigned parts) : parts_(parts) {}

  /// Does `work()`, which throws nothing. Returns false when it was left out, because another thread is at
  /// it, or not enough time has passed since it was done.
  template <class Work>
  bool try_to_do(Work&& work) {
    const std::int64_t begin = now();
    std::int64_t next = next_.load();
    if (begin < next || !next_.compare_exchange_strong(next, INT64_MAX)) return false;
    work();
    const std::int64_t end = now();
    next_ = end + (parts_ - 1) * (end - begin);
    return true;
  }

 private:
  /// Returns nanoseconds.
  static std::int64_t now() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  }

  const std::int64_t parts_;
  std::atomic<std::int64_t> next_{INT64_MIN};  ///< the time from which on it may be done again
};

}  // namespace warpmer
