#pragma once
/// A live table as it is taken out of the memory of its GPUs, and frozen on the host.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backend/live/gate.h"
#include "backend/live/live_table.h"
#include "backend/live/read_totals.h"
#include "backend/tally.h"
#include "groups/group_key.h"
#include "kernels/live/live_entries.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kmer/minimizer.h"

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

/// The number of k-mers of each shard.
using ShardSizes = std::vector<unsigned long long>;

/// Returns these of what there is. The device is current; `stream` is waited for.
template <class Key>
ShardSizes shard_sizes_of(const LiveEntries<Key>& entries, cudaStream_t stream) {
  constexpr std::uint32_t kShards = 1u << kShardBits;
  const DeviceArray<unsigned long long> on_device(kShards);
  ShardSizes sizes(kShards);
  fill_bytes(on_device.data(), 0, kShards, stream);
  entries.count_shards(on_device.data(), stream);
  copy_to_host(sizes.data(), on_device.data(), kShards, stream);
  check(cudaStreamSynchronize(stream), "counting k-mers");
  return sizes;
}

/// The k-mers of some shards, in host memory.
template <class Key>
struct ListedShards {
  std::uint32_t first = 0, end = 0, next = 0;
  std::vector<std::size_t> begins;  ///< of each shard, and the end of the last
  std::unique_ptr<PlacedKmer<Key>[]> kmers;

  [[nodiscard]] std::span<PlacedKmer<Key>> shard(std::uint32_t number) {
    return {kmers.get() + begins[number - first], kmers.get() + begins[number - first + 1]};
  }
};

inline constexpr std::size_t kListedAtOnce = std::size_t{1} << 24;

/// Lists some of the shards [first, end), of which the entries have all k-mers: the first one, and as many of
/// the next as have, together, kListedAtOnce. The device is current; `stream` is waited for.
template <class Key>
std::shared_ptr<ListedShards<Key>> list_from(const LiveEntries<Key>& entries, const ShardSizes& sizes,
                                             std::uint32_t first, std::uint32_t end, cudaStream_t stream) {
  auto listed = std::make_shared<ListedShards<Key>>();
  listed->first = listed->next = listed->end = first;
  listed->begins = {0};
  while (listed->end < end &&
         (listed->end == first || listed->begins.back() + sizes[listed->end] <= kListedAtOnce))
    listed->begins.push_back(listed->begins.back() + sizes[listed->end++]);
  const std::size_t size = listed->begins.back();
  listed->kmers = std::make_unique_for_overwrite<PlacedKmer<Key>[]>(size);
  if (size == 0) return listed;
  const DeviceArray<PlacedKmer<Key>> kmers(size);
  const DeviceArray<unsigned long long> places(sizes.size());
  ShardSizes begins(sizes.size());
  std::copy(listed->begins.begin(), listed->begins.end() - 1, begins.begin() + first);
  copy_to_device(places.data(), begins.data(), begins.size(), stream);
  entries.list_shards(first, listed->end, places.data(), kmers.data(), stream);
  copy_to_host(listed->kmers.get(), kmers.data(), size, stream);
  check(cudaStreamSynchronize(stream), "listing k-mers");
  return listed;
}

/// Takes a table out of the memory of its GPUs, a range of shards after another.
template <class Key>
class ShardLister {
 public:
  using Listed = ListedShards<Key>;
  virtual ~ShardLister() = default;

  /// Returns a shard that is not taken yet, with the list that it is in; null when there is none. Any thread
  /// may call it.
  std::shared_ptr<Listed> take(std::uint32_t& shard) {
    const std::lock_guard lock(mutex_);
    while (listed_ == nullptr || listed_->next == listed_->end) {
      if (first_ == kShards) return nullptr;
      listed_ = list(first_);
      first_ = listed_->end;
    }
    shard = listed_->next++;
    return listed_;
  }

 protected:
  static constexpr std::uint32_t kShards = 1u << kShardBits;

  /// Lists a shard, and perhaps some behind it. Shards come in order.
  virtual std::shared_ptr<Listed> list(std::uint32_t first) = 0;

 private:
  std::mutex mutex_;  ///< guards what follows, and `list`
  std::uint32_t first_ = 0;
  std::shared_ptr<Listed> listed_;
};

template <class Key>
class GpuLiveSnapshot : public backend::LiveSnapshot {
 public:
  /// `make_lister()` returns the lister, when no change is under way any more.
  template <class MakeLister>
  GpuLiveSnapshot(std::uint32_t k, backend::Gate& gate, const backend::LiveReadTotals& reads,
                  unsigned threads, MakeLister&& make_lister)
      : view_(gate, true), lister_(make_lister()), reads_(reads.get()) {
    for (unsigned t = 0; t < threads; ++t) workers_.emplace_back(k);
  }

  void finish(unsigned thread, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    SnapshotWorker& worker = workers_[thread];
    std::uint32_t shard = 0;
    while (const auto listed = lister_->take(shard)) {
      const std::span<PlacedKmer<Key>> kmers = listed->shard(shard);
      std::sort(kmers.begin(), kmers.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
      worker.keys.clear();
      worker.counts.clear();
      for (const PlacedKmer<Key>& kmer : kmers) {
        worker.keys.push_back(kmer.key);
        worker.counts.push_back(static_cast<std::uint64_t>(kmer.count));
      }
      worker.tally.note(worker.counts.data(), worker.counts.size());
      groups::EncodedShard encoded = worker.encoder.encode(worker.keys, worker.counts);
      sink(shard, {{}, std::move(encoded.payload), {}, std::nullopt, encoded.sizes});
      shard_done();
    }
  }

  [[nodiscard]] backend::Tally tally() const override {
    backend::Tally all;
    for (const SnapshotWorker& worker : workers_) all.merge(worker.tally);
    return all;
  }
  [[nodiscard]] backend::LiveTotals totals() const override { return reads_; }

 private:
  struct SnapshotWorker {
    explicit SnapshotWorker(std::uint32_t k) : encoder(k) {}
    groups::KeyEncoder<Key, Key> encoder;
    std::vector<Key> keys;
    std::vector<std::uint64_t> counts;
    backend::Tally tally;
  };

  const backend::Gate::Stop view_;
  const std::unique_ptr<ShardLister<Key>> lister_;
  const backend::LiveTotals reads_;
  std::deque<SnapshotWorker> workers_;
};

}  // namespace warpmer::gpu
