#pragma once
/// The counter that all feeds of a GPU share.

#include <cstdint>

#include "base/flat_combining.h"
#include "kernels/count/kmer_counter.cuh"

namespace warpmer::gpu {

/// Its tasks enqueue something in the counter's stream. (That takes 50 us for a text; sixteen threads that
/// slept while others were at it spent half of the time of reading so.) Thread-safe.
class SharedCounter : public FlatCombining<TextCounter> {
 public:
  explicit SharedCounter(TextCounter& counter) : FlatCombining(counter) {}

  /// For who has the counter: makes room for more, unless that has been done since `rooms_made` was so many.
  /// (To find out that there is room takes as long as to wait for the device.)
  void make_room(std::uint64_t made) {
    if (made != rooms_made_) return;
    resource().make_room();
    ++rooms_made_;
  }
  [[nodiscard]] std::uint64_t rooms_made() const { return rooms_made_; }

 private:
  std::uint64_t rooms_made_ = 0;
};

}  // namespace warpmer::gpu
