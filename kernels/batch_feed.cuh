#pragma once
/// One reading thread's way to the GPU: batches become joined text in pinned memory, are copied to the
/// device and counted there. Two batches are under way: while the device works on one, the thread joins
/// the next.

#include <cstdint>
#include <mutex>
#include <vector>

#include "device_counter.cuh"
#include "io/batch.h"

namespace warpmer::gpu {

/// The counter that all feeds share, with the lock that makes them take turns.
struct SharedCounter {
  TextCounter* counter;
  std::mutex* mutex;
};

class BatchFeed {
 public:
  /// Works on the current device; so must every call.
  BatchFeed(const SharedCounter& shared, bool lenient) : shared_(shared), lenient_(lenient) {}

  /// Sends a batch on its way and leaves an earlier one in its place. Returns the number of k-mers of
  /// batches completed meanwhile. InputError for a character that is no nucleotide code, in an earlier
  /// batch, unless lenient.
  std::uint64_t add(io::Batch& batch);

  /// Waits for what is under way.
  std::uint64_t finish();

  [[nodiscard]] double join_seconds() const { return join_seconds_; }
  [[nodiscard]] double copy_seconds() const { return copy_seconds_; }
  [[nodiscard]] std::uint64_t copied_bytes() const { return copied_bytes_; }

 private:
  struct Slot {
    io::Batch batch;
    PinnedArray<char> joined;
    DeviceArray<char> text;
    DeviceArray<std::uint32_t> left[2];  ///< tiles that found no room: to do, and again
    DeviceArray<CutStatus> status{1};
    PinnedArray<CutStatus> result{1};
    Event copy_begin{Event::Kind::timing}, copy_end{Event::Kind::timing};
    Event done;
    std::uint32_t bytes = 0;
    bool busy = false;
  };

  void join(Slot& slot);
  void send(Slot& slot);
  void enqueue(Slot& slot, const std::uint32_t* tiles, std::uint32_t tile_count, std::uint32_t* left);
  std::uint64_t complete(Slot& slot);

  SharedCounter shared_;
  bool lenient_;
  Stream copies_;
  Slot slots_[2];
  unsigned turn_ = 0;
  double join_seconds_ = 0, copy_seconds_ = 0;
  std::uint64_t copied_bytes_ = 0;
};

}  // namespace warpmer::gpu
