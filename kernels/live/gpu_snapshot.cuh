#pragma once
/// A live table as it is frozen, and taken out of the memory of its GPUs.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/live/gate.h"
#include "backend/live/live_table.h"
#include "backend/live/read_totals.h"
#include "backend/tally.h"
#include "index/index_file.h"
#include "kernels/live/live_entries.cuh"
#include "kernels/live/shard_freezer.cuh"
#include "kernels/memory/device_memory.cuh"

namespace warpmer::gpu {

/// Adds what there is to a tally. The device is current; `stream` is waited for.
template <class Key>
void note_counts(const LiveEntries<Key>& entries, cudaStream_t stream, backend::Tally& tally) {
  constexpr std::uint32_t kTallies = LiveEntries<Key>::kTallies;
  const DeviceArray<unsigned long long> on_device(kTallies + 1);
  std::vector<unsigned long long> kmers(kTallies + 1);
  fill_bytes(on_device.data(), 0, on_device.size(), stream);
  entries.tally(on_device.data(), stream);
  copy_to_host(kmers.data(), on_device.data(), kmers.size(), stream);
  check(cudaStreamSynchronize(stream), "tallying counts");
  tally.note_histogram({kmers.data(), kTallies});
  if (kmers[kTallies] == 0) return;
  const DeviceArray<std::uint32_t> large(kmers[kTallies]), size(1);
  std::vector<std::uint32_t> counts(large.size());
  fill_bytes(size.data(), 0, 1, stream);
  entries.list_large(large.data(), size.data(), stream);
  copy_to_host(counts.data(), large.data(), counts.size(), stream);
  check(cudaStreamSynchronize(stream), "listing large counts");
  for (const std::uint32_t count : counts) tally.note(count, 1);
}

/// Takes a table, or a part of it, out of the memory of GPUs, some shards after another.
class ShardTaker {
 public:
  virtual ~ShardTaker() = default;

  /// Calls `sink(number, shard)` with a shard that is not taken yet; false when there is none. Any thread may
  /// call it: one freezes, while others hand on what is frozen.
  bool take(const backend::ShardSink& sink) {
    std::shared_ptr<const ShardsOnHost> frozen;
    std::uint32_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      if (next_ == end_) return false;
      if (frozen_ == nullptr || next_ == frozen_->end())
        frozen_ = std::make_shared<ShardsOnHost>(freeze(next_, tally_));
      frozen = frozen_;
      number = next_++;
    }
    sink(number, frozen->shard(number));
    return true;
  }
  /// Returns what is known of the counts of all shards that have been taken, when no thread takes any more.
  [[nodiscard]] const backend::Tally& tally() const { return tally_; }

 protected:
  explicit ShardTaker(const index::ShardRange& shards) : next_(shards.first), end_(shards.end) {}

  /// Freezes a shard, and perhaps some behind it. Shards come in order. Takes note of the counts of a part of
  /// the table that begins with it.
  virtual ShardsOnHost freeze(std::uint32_t first, backend::Tally& tally) = 0;

 private:
  std::mutex mutex_;  ///< guards what follows, and `freeze`
  std::uint32_t next_;
  const std::uint32_t end_;
  std::shared_ptr<const ShardsOnHost> frozen_;
  backend::Tally tally_;
};

/// Parts of a table, side by side.
using ShardTakers = std::vector<std::unique_ptr<ShardTaker>>;

class GpuLiveSnapshot : public backend::LiveSnapshot {
 public:
  /// `make_takers()` returns those of all shards, when no change is under way any more.
  template <class MakeTakers>
  GpuLiveSnapshot(backend::Gate& gate, const backend::LiveReadTotals& reads, MakeTakers&& make_takers)
      : view_(gate, true), takers_(make_takers()), reads_(reads.get()) {}

  /// Threads begin with different parts.
  void finish(unsigned thread, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    for (std::size_t i = 0; i < takers_.size(); ++i) {
      ShardTaker& taker = *takers_[(thread + i) % takers_.size()];
      while (taker.take(sink)) shard_done();
    }
  }

  [[nodiscard]] backend::Tally tally() const override {
    backend::Tally all;
    for (const std::unique_ptr<ShardTaker>& taker : takers_) all.merge(taker->tally());
    return all;
  }
  [[nodiscard]] backend::LiveTotals totals() const override { return reads_; }

 private:
  const backend::Gate::Stop view_;
  const ShardTakers takers_;
  const backend::LiveTotals reads_;
};

}  // namespace warpmer::gpu
