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

#include "backend/live/live_table.h"
#include "backend/live/read_totals.h"
#include "backend/live/update_gate.h"
#include "backend/tally.h"
#include "groups/group_key.h"
#include "kernels/live/divided_kmers.cuh"
#include "kernels/memory/current_device.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kmer/minimizer.h"
#include "kmer/ownership.h"

namespace warpmer::gpu {

/// Adds what one owner has to a tally.
template <class Key>
void note_counts(const DividedKmers<Key>& divided, std::uint32_t owner, backend::Tally& tally) {
  constexpr std::uint32_t kTallies = LiveKmers<Key>::kTallies;
  const CurrentDevice current(divided.gpus()[owner]);
  const Stream stream;
  const DeviceArray<unsigned long long> on_device(kTallies + 1);
  std::vector<unsigned long long> kmers(kTallies + 1);
  fill_bytes(on_device.data(), 0, on_device.size(), stream);
  divided.of_owner(owner).tally(on_device.data(), stream);
  copy_to_host(kmers.data(), on_device.data(), kmers.size(), stream);
  stream.wait();
  tally.note_histogram({kmers.data(), kTallies});
  if (kmers[kTallies] == 0) return;
  const DeviceArray<std::uint32_t> large(kmers[kTallies]), size(1);
  std::vector<std::uint32_t> counts(large.size());
  fill_bytes(size.data(), 0, 1, stream);
  divided.of_owner(owner).list_large(large.data(), size.data(), stream);
  copy_to_host(counts.data(), large.data(), counts.size(), stream);
  stream.wait();
  for (const std::uint32_t count : counts) tally.note(count, 1);
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

/// Takes the table out of the device, a range of shards after another.
template <class Key>
class ShardLister {
 public:
  using Listed = ListedShards<Key>;

  explicit ShardLister(const DividedKmers<Key>& divided) : divided_(divided), sizes_(kShards) {
    for (std::uint32_t owner = 0; owner < divided.owners(); ++owner) count_shards_of(owner);
  }

  /// Returns a shard that is not taken yet, with the list that it is in; null when there is none.
  std::shared_ptr<Listed> take(std::uint32_t& shard) {
    const std::lock_guard lock(mutex_);
    if (listed_ == nullptr || listed_->next == listed_->end) {
      if (first_ == kShards) return nullptr;
      listed_ = list();
    }
    shard = listed_->next++;
    return listed_;
  }

 private:
  static constexpr std::uint32_t kShards = 1u << kShardBits;
  static constexpr std::size_t kAtOnce = std::size_t{1} << 24;

  void count_shards_of(std::uint32_t owner) {
    const CurrentDevice current(divided_.gpus()[owner]);
    const Stream stream;
    const DeviceArray<unsigned long long> sizes(kShards);
    fill_bytes(sizes.data(), 0, kShards, stream);
    divided_.of_owner(owner).count_shards(sizes.data(), stream);
    std::vector<unsigned long long> of_owner(kShards);
    copy_to_host(of_owner.data(), sizes.data(), kShards, stream);
    stream.wait();
    std::transform(sizes_.begin(), sizes_.end(), of_owner.begin(), sizes_.begin(), std::plus());
  }

  /// All of them are of one owner.
  std::shared_ptr<Listed> list() {
    const std::uint32_t owner = owner_of(first_, divided_.owners(), kShards);
    const std::uint32_t end = first_shard_of(owner + 1, divided_.owners(), kShards);
    auto listed = std::make_shared<Listed>();
    listed->first = listed->next = first_;
    listed->begins = {0};
    while (first_ < end && (first_ == listed->first || listed->begins.back() + sizes_[first_] <= kAtOnce))
      listed->begins.push_back(listed->begins.back() + sizes_[first_++]);
    listed->end = first_;
    const std::size_t size = listed->begins.back();
    listed->kmers = std::make_unique_for_overwrite<PlacedKmer<Key>[]>(size);
    if (size > 0) download(*listed, size, owner);
    return listed;
  }

  void download(Listed& listed, std::size_t size, std::uint32_t owner) const {
    const CurrentDevice current(divided_.gpus()[owner]);
    const Stream stream;
    const DeviceArray<PlacedKmer<Key>> kmers(size);
    const DeviceArray<unsigned long long> places(kShards);
    std::vector<unsigned long long> begins(kShards);
    std::copy(listed.begins.begin(), listed.begins.end() - 1, begins.begin() + listed.first);
    copy_to_device(places.data(), begins.data(), kShards, stream);
    divided_.of_owner(owner).list_shards(listed.first, listed.end, places.data(), kmers.data(), stream);
    copy_to_host(listed.kmers.get(), kmers.data(), size, stream);
    stream.wait();
  }

  const DividedKmers<Key>& divided_;
  std::vector<unsigned long long> sizes_;
  std::mutex mutex_;  ///< guards what follows
  std::uint32_t first_ = 0;
  std::shared_ptr<Listed> listed_;
};

template <class Key>
class GpuLiveSnapshot : public backend::LiveSnapshot {
 public:
  GpuLiveSnapshot(const DividedKmers<Key>& divided, backend::UpdateGate& gate,
                  const backend::LiveReadTotals& reads, unsigned threads)
      : view_(gate, true), lister_(divided), reads_(reads.get()) {
    for (unsigned t = 0; t < threads; ++t) workers_.emplace_back(divided.kmers().k);
  }

  void finish(unsigned thread, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    SnapshotWorker& worker = workers_[thread];
    std::uint32_t shard = 0;
    while (const auto listed = lister_.take(shard)) {
      const std::span<PlacedKmer<Key>> kmers = listed->shard(shard);
      std::sort(kmers.begin(), kmers.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
      worker.keys.clear();
      worker.counts.clear();
      for (const PlacedKmer<Key>& kmer : kmers) {
        worker.keys.push_back(kmer.key);
        worker.counts.push_back(kmer.count);
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

  const backend::UpdateGate::WholeView view_;
  ShardLister<Key> lister_;
  const backend::LiveTotals reads_;
  std::deque<SnapshotWorker> workers_;
};

}  // namespace warpmer::gpu
