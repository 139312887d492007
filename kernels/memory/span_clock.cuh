#pragma once
/// Measures how long the device worked: it adds up time spans in streams.

#include <deque>
#include <utility>
#include <vector>

#include "kernels/memory/device_memory.cuh"

namespace warpmer::gpu {

class SpanClock {
 public:
  /// Runs `enqueue`, and measures how long its work takes in the stream.
  template <class Enqueue>
  void time(cudaStream_t stream, Enqueue&& enqueue) {
    begin(stream);
    enqueue();
    end(stream);
  }
  /// Do the same in two steps; work enqueued between them is timed.
  void begin(cudaStream_t stream) {
    // The oldest span ended long ago, so that this does not wait.
    if (open_.size() == kMostOpen) collect_oldest();
    if (spare_.empty()) spare_.emplace_back();
    open_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    open_.back().begin.record(stream);
  }
  void end(cudaStream_t stream) { open_.back().end.record(stream); }
  /// Waits for all spans.
  void collect() {
    while (!open_.empty()) collect_oldest();
  }
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  struct TimedSpan {
    Event begin{Event::Kind::timing}, end{Event::Kind::timing};
  };

  void collect_oldest() {
    const TimedSpan& span = open_.front();
    span.end.wait();
    seconds_ += span.end.seconds_since(span.begin);
    spare_.push_back(std::move(open_.front()));
    open_.pop_front();
  }

  static constexpr std::size_t kMostOpen = 256;
  std::deque<TimedSpan> open_;
  std::vector<TimedSpan> spare_;
  double seconds_ = 0;
};

}  // namespace warpmer::gpu
