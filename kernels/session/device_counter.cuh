#pragma once
/// One GPU's part of a counting job, without files and threads: text on the device in, frozen shards on
/// the device out. The session feeds it; the bench times it. Several work together by an exchange.

#include <cstdint>
#include <functional>
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

/// Seconds the GPU was busy. Counting and freezing share it: each has the other's part in its own, and
/// freezing what it waited for room.
struct DeviceTimes {
  double cut = 0, split = 0, count = 0, freeze = 0;
  double exchange = 0;          ///< copying what it has cut to other GPUs, beside the others
  double late_exchange = 0;     ///< of that, what was beside counting
  double count_and_freeze = 0;  ///< from the begin of the one to the end of the other, early counts aside
  std::uint64_t words = 0;      ///< super-k-mers counted, and places for some that were left empty
  std::uint64_t exchanged_bytes = 0;  ///< that went to other GPUs

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

/// For k > 12: words are staged, split, counted and frozen.
class DeviceCounter : public TextCounter {
 public:
  /// No more text comes. When all counters that work together have been told so, what was cut is where it is
  /// going to be counted, or the last of it on its way there; the last of this process's to be told waits for
  /// that.
  virtual void end_of_input() = 0;

  /// Then counts and freezes its shards, in chunks, in order; hands each over when it is enqueued. A
  /// chunk's memory is used again for later ones, maybe for the next: `reclaim(first_shard)` must return only
  /// when that earlier chunk is no longer needed, and without waiting for one that comes.
  virtual void finish(const std::function<void(FrozenChunk&&)>& take,
                      const std::function<void(std::uint32_t first_shard)>& reclaim) = 0;

  /// After the end of input: whether there is a live table. Then `finish` freezes what its index has, too,
  /// and does not tally counts of 2^16 and more: an index may have any number of them.
  [[nodiscard]] virtual bool is_live() const = 0;

  /// After `finish`, as are the others.
  virtual void add_to(backend::Tally& tally) const = 0;
  [[nodiscard]] virtual std::uint64_t early_counts() const = 0;
  [[nodiscard]] virtual SpillTotals spilled() const = 0;
  [[nodiscard]] virtual backend::PagingReport paging() const = 0;
  [[nodiscard]] virtual DeviceTimes times() const = 0;
};

/// For one GPU, the current one. ResourceError when `memory_bytes` is too little to begin.
std::unique_ptr<DeviceCounter> make_device_counter(const DeviceCountPlan& plan);

/// For several GPUs, which exchange what they cut: each counts and freezes a range of the shards. One counter
/// for each GPU of this process. A counter is to be used, and destroyed, with its GPU current. On several
/// ranks `memory_bytes` and `expected_kmers` must be the same, because so must be the lists.
std::vector<std::unique_ptr<DeviceCounter>> make_device_counters(const DeviceCountPlan& plan,
                                                                 std::unique_ptr<Carrier> carrier);

}  // namespace warpmer::gpu
