#pragma once
/// Counting for k > 12: cut, split, exchange, pend; then count and freeze, shard by shard.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/clock.h"
#include "cpu/count/shard_exchange.h"
#include "cpu/count/shard_memory.h"
#include "cpu/count/string_counting.h"
#include "cpu/count/word_joiner.h"
#include "cpu/memory/memory_model.h"
#include "cpu/memory/multisplit.h"
#include "cpu/simd/flanked_cutter.h"
#include "groups/group_shape.h"
#include "kmer/minimizer.h"
#include "system/huge_pages.h"

namespace warpmer::cpu {

/// Shards are counted in one of the ways of string_counting.h.
template <class Way>
class ShardedSession : public backend::CountingSession {
  using Counting = StringCounting<Way>;
  using Word = typename Counting::Word;
  using Cutter = FlankedCutter<Way::kWords>;

 public:
  ShardedSession(const Kernels& kernels, const backend::CountPlan& plan)
      : plan_(plan),
        shards_(1u << shard_bits(plan.kmers.k)),
        joiner_(plan.kmers.k),
        shard_memory_(plan_, shards_, MemoryModel(with_courier(plan), memory_kind(plan.kmers.k))),
        pending_(shard_memory_.pending()),
        exchange_(*plan.ranks, shards_, plan.devices.cpu_devices, plan.threads),
        next_shard_(exchange_.first_shard()) {
    const std::uint32_t own_shards = exchange_.end_shard() - exchange_.first_shard();
    const unsigned workers = with_courier(plan).threads;
    for (unsigned t = 0; t < workers; ++t) {
      workers_.emplace_back(kernels, plan_, shards_, own_shards, shard_memory_.pool(),
                            stock_pages(shard_memory_.memory().budget(), plan.threads));
    }
    if (plan.ranks->are_several()) courier_ = std::thread([this] { deliver_until_complete(); });
  }

  ~ShardedSession() override {
    has_ended_ = true;
    if (courier_.joinable()) courier_.join();
  }

  /// Forecasts what a session with this plan is going to do.
  static backend::SessionForecast forecast(const backend::CountPlan& plan,
                                           const backend::ExpectedKmers& expected) {
    constexpr std::uint64_t kPage = PagePool::kPageBytes;
    const MemoryModel::SessionKind kind = memory_kind(plan.kmers.k);
    const double words = expected.pending_bytes / sizeof(Word);
    const double bytes =
        words == 0 ? 0 : words * mean_flanked_bytes(plan.kmers.k, expected.occurrences / words);
    // Each shard's last page is half empty; threads have some in stock.
    const double filled = bytes / PendingPage<Word>::kBytes + std::min<double>(words, kind.shards) / 2;
    const double stock = plan.threads * static_cast<double>(stock_pages(
                                            static_cast<std::uint64_t>(filled * kPage), plan.threads));
    return MemoryModel::forecast(plan, kind, bytes, (filled + stock) * kPage, expected.run_bytes);
  }

  std::uint64_t add(io::Batch& batch, unsigned thread) override {
    CountWorker& worker = workers_[thread];
    std::uint64_t kmers = 0;
    const double other_work = worker.times.after_cut_seconds();
    {
      const Stopwatch watch(worker.times.cut_seconds);
      for (const io::Piece& piece : batch.pieces) {
        worker.times.cut_bytes += piece.length;
        kmers += worker.cutter.cut(batch, piece, 0, [&] {
          scatter(worker, thread);
          if (shard_memory_.over_budget()) shard_memory_.evict(worker.count_scratch);
        });
      }
    }
    worker.times.cut_seconds -= worker.times.after_cut_seconds() - other_work;
    return kmers;
  }

  std::uint64_t end_of_input(unsigned thread) override {
    CountWorker& worker = workers_[thread];
    scatter(worker, thread);
    exchange_.end(appender(worker), [&] {
      if (shard_memory_.over_budget()) shard_memory_.evict(worker.count_scratch);
    });
    // From here on, it is looked at what was counted early and how long that took.
    if (++threads_ended_ < plan_.threads) return 0;
    if (courier_.joinable()) courier_.join();
    shard_memory_.note_largest();
    return 0;
  }

  void finish(unsigned thread, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    for (std::uint32_t shard; (shard = next_shard_.fetch_add(1)) < exchange_.end_shard(); shard_done())
      sink(shard, take(shard, thread, sink.take_payload()));
  }

  /// Counts a shard, once, when the input is complete. Called concurrently like `finish`, of which it is a
  /// part. `spent` is a payload of no more use.
  index::FrozenShard take(std::uint32_t shard, unsigned thread, std::vector<std::uint64_t>&& spent = {}) {
    index::FrozenShard frozen;
    CountWorker& worker = workers_[thread];
    typename Memory::CountScratch& count_scratch = worker.count_scratch;
    const typename Memory::Turn turn(shard_memory_, count_scratch);
    shard_memory_.count(count_scratch, shard, [&](auto& in_hand) {
      TallyFilter filter(worker.tally, plan_.histogram_only);
      frozen = count_scratch.counting.count_all(in_hand, filter, std::move(spent));
      worker.loads.note_shard(shard - exchange_.first_shard(), filter.kmers());
    });
    return frozen;
  }

  [[nodiscard]] backend::Tally tally() const override {
    backend::Tally all(plan_.kept);
    for (const CountWorker& worker : workers_) all.merge(worker.tally);
    return all;
  }

  [[nodiscard]] backend::SpillReport spilled() const override { return shard_memory_.spill_report(); }
  [[nodiscard]] backend::SessionReport report() const override {
    StageTimes times;
    backend::OwnerLoads loads(plan_.devices.cpu_devices, exchange_.end_shard() - exchange_.first_shard());
    for (const CountWorker& worker : workers_) {
      times.add(worker.times);
      loads.merge(worker.loads);
    }
    backend::SessionReport report;
    report.spilled = spilled();
    report.stages = times.reports(report.spilled);
    report.owner_loads = loads.loads();
    report.early_counts = shard_memory_.early_counts();
    return report;
  }

 private:
  using Memory = ShardMemory<Counting>;

  struct CountWorker {
    CountWorker(const Kernels& kernels, const backend::CountPlan& plan, std::uint32_t shards,
                std::uint32_t own_shards, PagePool& pool, std::size_t stock_pages)
        : cutter(kernels, plan.kmers.k, plan.kmers.canonical, plan.reading.lenient),
          split(shards, Cutter::kCapacity),
          stock(pool, stock_pages),
          count_scratch(kernels, plan, times),
          tally(plan.kept),
          loads(plan.devices.cpu_devices, own_shards) {}

    static std::uint64_t memory_bytes() {
      return Cutter::memory_bytes() + Cutter::kCapacity * sizeof(Word) + SliceBatch<Word>::kMostSliceBytes;
    }

    Cutter cutter;
    Multisplit<Word> split;
    PageStock stock;
    StageTimes times;
    typename Memory::CountScratch count_scratch;
    backend::Tally tally;
    backend::OwnerLoads loads;
  };

  static constexpr std::uint32_t kPrefetchShards = 8;
  static constexpr std::chrono::milliseconds kLook{5};

  static MemoryModel::SessionKind memory_kind(std::uint32_t k) {
    return {CountWorker::memory_bytes(), 1u << shard_bits(k), Memory::kShardBytes, Counting::costs(),
            word_sizes(k)};
  }
  static WordSizes word_sizes(std::uint32_t k) {
    // Random minimizers change after half a window of n + 1, on average.
    const double kmers = (groups::GroupShape(k).flank_bases() + 2) / 2.0;
    return {sizeof(groups::FlankedWord<Way::kWords>), kmers, mean_flanked_bytes(k, kmers)};
  }
  /// Returns the plan, with a thread for what other ranks send, if there are any.
  static backend::CountPlan with_courier(backend::CountPlan plan) {
    plan.threads += plan.ranks->are_several() ? 1 : 0;
    return plan;
  }

  /// Splits what the cutter has collected, and sends each owner its part.
  void scatter(CountWorker& worker, unsigned thread) {
    auto& list = worker.cutter.list();
    const std::size_t super_kmers = list.size;
    {
      const Stopwatch watch(worker.times.split_seconds);
      joiner_.join(list);
      worker.split.split(list);
    }
    const Stopwatch watch(worker.times.exchange_seconds);
    worker.times.super_kmer_bytes += list.size * sizeof(Word);
    worker.cutter.clear();
    if (plan_.devices.cpu_devices == 1 && !plan_.ranks->are_several()) {
      worker.loads.note_super_kmers(0, super_kmers);
      for (std::uint32_t shard = 0; shard < shards_; ++shard) {
        pending_.prefetch(std::min(shard + kPrefetchShards, shards_ - 1));
        if (const std::size_t n = worker.split.size(shard); n > 0)
          pending_.append(shard, worker.split.begin(shard), n, worker.stock);
      }
      return;
    }
    worker.times.exchanged_bytes += exchange_.scatter(worker.split, thread, plan_.threads, appender(worker));
  }

  /// Returns a function that appends words to a shard.
  auto appender(CountWorker& worker) {
    return [this, &worker](std::uint32_t shard, const Word* words, std::size_t n) {
      pending_.append(shard, words, n, worker.stock);
      worker.loads.note_super_kmers(worker.loads.owner(shard - exchange_.first_shard()),
                                    joiner_.super_kmers(words, n));
    };
  }

  /// Sees to it that what other ranks send is taken, whatever the threads that read are waiting for.
  void deliver_until_complete() {
    CountWorker& worker = workers_.back();
    try {
      while (!has_ended_ && !exchange_.is_complete()) {
        exchange_.deliver_next(appender(worker), kLook);
        if (shard_memory_.over_budget()) shard_memory_.evict(worker.count_scratch);
      }
    } catch (...) {
      plan_.ranks->report(std::current_exception());
    }
  }

  /// Returns the number of pages that a thread may have in stock: few where memory is short, else a huge
  /// page.
  static std::size_t stock_pages(std::uint64_t budget, unsigned threads) {
    constexpr std::uint64_t kLeast = 16;
    return std::clamp(budget / (32 * threads * PagePool::kPageBytes), kLeast,
                      std::uint64_t{system::kHugePageBytes / PagePool::kPageBytes});
  }

  const backend::CountPlan plan_;
  std::uint32_t shards_;
  const WordJoiner<Way::kWords> joiner_;
  Memory shard_memory_;
  PendingStore<Word>& pending_;
  std::deque<CountWorker> workers_;
  ShardExchange<Word> exchange_;
  std::atomic<std::uint32_t> next_shard_;
  std::atomic<unsigned> threads_ended_{0};
  std::atomic<bool> has_ended_{false};
  std::thread courier_;  ///< runs `deliver_until_complete` when there are several ranks
};

}  // namespace warpmer::cpu
