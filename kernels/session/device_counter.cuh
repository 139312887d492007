#pragma once
/// One GPU's part of a counting job, without files and threads: it takes text on the device, and makes frozen
/// shards on the device. The session feeds it; the bench times it. Several work together by an exchange.

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/tally.h"
#include "kernels/count/count_plan.cuh"
#include "kernels/count/kmer_counter.cuh"
#include "kernels/exchange/carrier.cuh"
#include "kernels/freeze/frozen_chunk.cuh"
#include "kernels/spill/spilled_segments.cuh"

namespace warpmer::gpu {

/// Seconds that the GPU was busy. Counting and freezing share it: the time of each includes the other's part,
/// and that of freezing includes waiting for room.
struct DeviceTimes {
  double cut = 0, split = 0, count = 0, freeze = 0;
  double exchange = 0;          ///< copying the words that it has cut to other GPUs, beside the other work
  double late_exchange = 0;     ///< part of that which was beside counting
  double count_and_freeze = 0;  ///< from the begin of the one to the end of the other, early counts aside
  std::uint64_t words = 0;      ///< super-k-mers counted, and places for some that were left empty
  std::uint64_t exchanged_bytes = 0;  ///< bytes that went to other GPUs

  void add(const DeviceTimes& other) {
    cut += other.cut;
    split += other.split;
    count += other.count;
    freeze += other.freeze;
    exchange += other.exchange;
    late_exchange += other.late_exchange;
    count_and_freeze += other.count_and_freeze;
    words += other.words;
    exchanged_bytes += other.exchanged_bytes;
  }
};

/// The counter for k > 12: words are staged, split, counted and frozen.
class DeviceCounter : public KmerCounter {
 public:
  /// Ends the text. When all counters that work together have been told so, the cut words are at the GPUs
  /// that will count them, or the last of them are on their way; the call for the last counter of this
  /// process waits for that.
  virtual void end_of_input() = 0;

  /// After that: counts and freezes its shards, in chunks, in order, and hands each over when it is enqueued.
  /// A chunk's memory is used again for later ones, maybe for the next.
  virtual void finish(ChunkSink& chunks) = 0;

  /// Must be called after `finish`, as the other functions must.
  virtual void add_to(backend::Tally& tally) const = 0;
  [[nodiscard]] virtual std::uint64_t early_counts() const = 0;
  [[nodiscard]] virtual SpillTotals spilled() const = 0;
  [[nodiscard]] virtual DeviceTimes times() const = 0;
};

/// Makes a counter for one GPU, the current one. Throws a ResourceError when `memory_bytes` is too little to
/// begin.
std::unique_ptr<DeviceCounter> make_device_counter(const DeviceCountPlan& plan);

/// Makes counters for several GPUs, which exchange the words that they cut: each counts and freezes a range
/// of the shards. There is one counter for each GPU of this process. A counter must be used, and destroyed,
/// with its GPU current. On several ranks `memory_bytes` and `expected_kmers` must be the same, because the
/// bins must be the same.
std::vector<std::unique_ptr<DeviceCounter>> make_device_counters(const DeviceCountPlan& plan,
                                                                 std::unique_ptr<Carrier> carrier);

}  // namespace warpmer::gpu
