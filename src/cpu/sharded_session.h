#pragma once
/// Counting for k > 12: cut, split, exchange, pend; then count and freeze shard by shard.

#include <algorithm>
#include <atomic>
#include <deque>
#include <vector>

#include "comm/exchange.h"
#include "core/minimizer.h"
#include "core/ownership.h"
#include "cpu/cutter.h"
#include "cpu/memory_model.h"
#include "cpu/multisplit.h"
#include "cpu/shard_tiers.h"
#include "cpu/stopwatch.h"
#include "engine/backend.h"

namespace warpmer::cpu {

template <class Key, int Words>
class ShardedSession : public engine::CountingSession {
 public:
  ShardedSession(const Kernels& kernels, const engine::CountPlan& plan)
      : plan_(plan),
        shards_(1u << shard_bits(plan.k)),
        memory_(plan, Worker::memory_bytes(), shards_, Tiers::kShardBytes, sizeof(Key)),
        tiers_(kernels, plan_, shards_, memory_),
        pending_(tiers_.pending()),
        exchange_(plan.devices),
        threads_in_(plan.threads) {
    for (unsigned t = 0; t < plan.threads; ++t)
      workers_.emplace_back(kernels, plan, shards_, tiers_.pool(), stock_pages());
  }

  std::uint64_t add(io::Batch& batch, unsigned thread) override {
    Worker& worker = workers_[thread];
    std::uint64_t kmers = 0;
    const double other_work = worker.times.after_cut_seconds();
    {
      const Stopwatch watch(worker.times.cut_seconds);
      for (const io::Piece& piece : batch.pieces) {
        worker.times.cut_bytes += piece.length;
        kmers += worker.cutter.cut(batch, piece, 0, [&] {
          pass_on(worker, thread);
          if (tiers_.over_budget()) tiers_.relieve(worker.desk);
        });
      }
    }
    worker.times.cut_seconds -= worker.times.after_cut_seconds() - other_work;
    return kmers;
  }

  std::uint64_t end_of_input(unsigned thread) override {
    Worker& worker = workers_[thread];
    pass_on(worker, thread);
    if (threads_in_.fetch_sub(1) != 1) return 0;
    for (unsigned device = 0; device < plan_.devices; ++device) deliver(device, worker);
    return 0;
  }

  void finish(unsigned thread, const engine::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    Worker& worker = workers_[thread];
    index::FrozenShard frozen;
    for (std::uint32_t shard; (shard = next_shard_.fetch_add(1)) < shards_; shard_done()) {
      take(shard, thread, [&](Key* keys, std::uint64_t* counts, std::size_t size) {
        const std::size_t kept = worker.tally.filter(keys, counts, size);
        frozen = worker.desk.freezer.freeze(keys, counts, kept, std::move(frozen.payload));
      });
      sink(shard, std::move(frozen));
    }
  }

  /// When the input is complete: counts a shard, once, and calls `use(keys, counts, size)` with all of its
  /// k-mers (their hashes) in canonical order. Called concurrently like `finish`, of which it is a part.
  template <class Use>
  void take(std::uint32_t shard, unsigned thread, Use&& use) {
    typename Tiers::Desk& desk = workers_[thread].desk;
    const typename Tiers::Turn turn(tiers_, desk);
    tiers_.count(desk, shard);
    const Stopwatch watch(desk.times.freeze_seconds);
    use(desk.counter->keys(), desk.counter->counts(), desk.counter->size());
  }

  [[nodiscard]] engine::Tally tally() const override {
    engine::Tally all(plan_.min_count, plan_.max_count);
    for (const Worker& worker : workers_) all.merge(worker.tally);
    return all;
  }

  [[nodiscard]] std::vector<engine::StageReport> stages() const override {
    StageTimes all;
    for (const Worker& worker : workers_) all.add(worker.times);
    return all.reports(spilled());
  }

  [[nodiscard]] std::uint64_t early_counts() const override { return tiers_.early_counts(); }
  [[nodiscard]] engine::SpillReport spilled() const override { return tiers_.spill_report(); }

 private:
  using Tiers = ShardTiers<Key, Words>;

  struct Worker {
    Worker(const Kernels& kernels, const engine::CountPlan& plan, std::uint32_t shards, PagePool& pool,
           std::size_t stock_pages)
        : cutter(kernels, plan.k, plan.lenient),
          split(shards, Cutter<Words>::kCapacity),
          stock(pool, stock_pages),
          desk(kernels, plan.k, times),
          tally(plan.min_count, plan.max_count) {}

    static std::uint64_t memory_bytes() {
      return Cutter<Words>::memory_bytes() + Cutter<Words>::kCapacity * sizeof(SuperKmer<Words>) +
             SliceBatch<Words>::kMostSliceBytes;
    }

    Cutter<Words> cutter;
    Multisplit<Words> split;
    PageStock stock;
    StageTimes times;
    typename Tiers::Desk desk;
    engine::Tally tally;
  };

  static constexpr std::uint32_t kPrefetchShards = 8;
  /// Parcels in an inbox beyond which the sender delivers them himself.
  static constexpr std::size_t kInboxParcels = 4;

  /// Splits what the cutter has collected, and sends each owner his part.
  void pass_on(Worker& worker, unsigned thread) {
    const auto& list = worker.cutter.list();
    {
      const Stopwatch watch(worker.times.split_seconds);
      worker.split.split(list);
    }
    const Stopwatch watch(worker.times.exchange_seconds);
    worker.times.super_kmer_bytes += list.size * sizeof(SuperKmer<Words>);
    worker.cutter.clear();
    if (plan_.devices == 1) {
      for (std::uint32_t shard = 0; shard < shards_; ++shard) {
        pending_.prefetch(std::min(shard + kPrefetchShards, shards_ - 1));
        if (const std::size_t n = worker.split.size(shard); n > 0)
          pending_.append(shard, worker.split.begin(shard), n, worker.stock);
      }
      return;
    }
    for (std::uint32_t owner = 0; owner < plan_.devices; ++owner) {
      comm::Parcel<Words> parcel = parcel_for(worker.split, owner);
      worker.times.exchanged_bytes += parcel.bytes();
      if (exchange_.send(owner, std::move(parcel)) > kInboxParcels) deliver(owner, worker);
    }
    for (unsigned device = thread; device < plan_.devices; device += plan_.threads) deliver(device, worker);
  }

  comm::Parcel<Words> parcel_for(const Multisplit<Words>& split, std::uint32_t owner) const {
    comm::Parcel<Words> parcel;
    parcel.first_shard = first_shard_of(owner, plan_.devices, shards_);
    const std::uint32_t end = first_shard_of(owner + 1, plan_.devices, shards_);
    for (std::uint32_t shard = parcel.first_shard; shard <= end; ++shard)
      parcel.offsets.push_back(split.offset(shard) - split.offset(parcel.first_shard));
    parcel.words.assign(split.begin(parcel.first_shard),
                        split.begin(parcel.first_shard) + parcel.offsets.back());
    return parcel;
  }

  /// Appends everything in a device's inbox to its shards.
  void deliver(std::uint32_t device, Worker& worker) {
    for (comm::Parcel<Words> parcel; exchange_.receive(device, parcel);) {
      for (std::uint32_t i = 0; i + 1 < parcel.offsets.size(); ++i) {
        const std::uint32_t from = parcel.offsets[i], to = parcel.offsets[i + 1];
        if (to > from)
          pending_.append(parcel.first_shard + i, parcel.words.data() + from, to - from, worker.stock);
      }
    }
  }

  /// What a thread may have in stock: little where memory is short, else a huge page.
  [[nodiscard]] std::size_t stock_pages() const {
    constexpr std::uint64_t kLeast = 16;
    return std::clamp(memory_.budget() / (32 * plan_.threads * PagePool::kPageBytes), kLeast,
                      std::uint64_t{PagePool::kHugePageBytes / PagePool::kPageBytes});
  }

  const engine::CountPlan plan_;
  std::uint32_t shards_;
  const MemoryModel memory_;
  Tiers tiers_;
  PendingStore<Words>& pending_;
  std::deque<Worker> workers_;
  comm::InProcessExchange<Words> exchange_;
  std::atomic<unsigned> threads_in_;
  std::atomic<std::uint32_t> next_shard_{0};
};

}  // namespace warpmer::cpu
