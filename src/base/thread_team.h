#pragma once
/// Some threads that do one thing together.

#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
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

}  // namespace warpmer
