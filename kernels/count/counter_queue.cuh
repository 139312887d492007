#pragma once
/// The counter that all feeds of a GPU share.

#include <cstdint>

#include "base/flat_combining.h"
#include "kernels/count/kmer_counter.cuh"

namespace warpmer::gpu {

/// Its tasks enqueue work in the counter's stream. (That takes 50 us for a text; sixteen threads that slept
/// for a lock meanwhile spent half of the reading time so.) Thread-safe.
class CounterQueue : public FlatCombining<KmerCounter> {
 public:
  explicit CounterQueue(KmerCounter& counter) : FlatCombining(counter) {}

  /// Makes room for more, unless that has been done since `rooms_made` had this value. Only the thread that
  /// has the counter may call it. (To find out that there is room takes as long as to wait for the device.)
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
