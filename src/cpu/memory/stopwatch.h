#pragma once
/// Time spent in a part of a function.

#include "base/clock.h"

namespace warpmer::cpu {

/// Adds the time of its life to a counter.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds), start_(Clock::now()) {}
  ~Stopwatch() { seconds_ += seconds_since(start_); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  Clock::time_point start_;
};

}  // namespace warpmer::cpu
