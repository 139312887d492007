#pragma once
/// Measures how long work takes.

#include <chrono>

namespace warpmer {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace warpmer
