#pragma once
/// Some threads that do one thing together.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace warpmer {

/// Runs `work(thread)` for thread 0 to threads - 1, each on a thread of its own (0 on the caller's),
/// and waits for all. The first exception calls `on_error`, which makes the others return soon, and is
/// rethrown when they have. ResourceError when the system has no room for so many threads.
inline void run_team(unsigned threads, const std::function<void(unsigned)>& work,
                     const std::function<void()>& on_error) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto guarded = [&](unsigned thread) {
    try {
      work(thread);
    } catch (...) {
      {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
      on_error();
    }
  };
  std::vector<std::thread> team;
  try {
    team.reserve(threads);
    for (unsigned t = 1; t < threads; ++t) team.emplace_back(guarded, t);
    guarded(0);
  } catch (const std::system_error& error) {
    // Those that run already must come back before their stacks go.
    {
      const std::lock_guard lock(mutex);
      first = std::make_exception_ptr(ResourceError("cannot start " + std::to_string(threads) +
                                                    " threads: " + error.what() + "; lower -t"));
    }
    on_error();
  }
  for (auto& thread : team) thread.join();
  if (first) std::rethrow_exception(first);
}

/// Numbers from `first` on, below `end`, for the threads of a team, which take one after the other.
/// Thread-safe.
class SharedNumbers {
 public:
  SharedNumbers(std::uint64_t first, std::uint64_t end) : next_(first), end_(end) {}

  /// Takes a number that no other thread has. False when none is left.
  template <class Number>
  [[nodiscard]] bool take(Number& number) {
    const std::uint64_t next = next_.fetch_add(1);
    number = static_cast<Number>(next);
    return next < end_;
  }
  /// Leaves none.
  void stop() { next_ = end_; }

 private:
  std::atomic<std::uint64_t> next_;
  const std::uint64_t end_;
};

/// Runs `work(thread, numbers)` as `run_team` does, where the threads share the numbers from `first` to
/// `end`. After the first exception none is left, and `on_error` is called.
template <class Work>
void share_numbers(
    unsigned threads, std::uint64_t first, std::uint64_t end, Work&& work,
    const std::function<void()>& on_error = [] {}) {
  SharedNumbers numbers(first, end);
  const auto stop = [&] {
    numbers.stop();
    on_error();
  };
  run_team(
      threads, [&](unsigned thread) { work(thread, numbers); }, stop);
}

/// Returns make(0), make(1), ... make(n - 1), which up to `threads` threads make. The first exception ends
/// it, and is rethrown.
template <class Make>
std::vector<std::invoke_result_t<const Make&, std::size_t>> make_all(unsigned threads, std::size_t n,
                                                                     const Make& make) {
  std::vector<std::invoke_result_t<const Make&, std::size_t>> made(n);
  const auto busy = static_cast<unsigned>(std::clamp<std::size_t>(n, 1, std::max(threads, 1U)));
  share_numbers(busy, 0, n, [&](unsigned /*thread*/, SharedNumbers& numbers) {
    for (std::size_t i; numbers.take(i);) made[i] = make(i);
  });
  return made;
}

}  // namespace warpmer
