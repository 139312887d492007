#pragma once
/// Counting for k > 12: cut, split, exchange, pend; then count and freeze shard by shard.

#include <fmt/core.h>

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "comm/exchange.h"
#include "core/error.h"
#include "core/minimizer.h"
#include "core/ownership.h"
#include "cpu/cutter.h"
#include "cpu/freezer.h"
#include "cpu/multisplit.h"
#include "cpu/pending_store.h"
#include "cpu/shard_counter.h"
#include "cpu/stage_times.h"
#include "cpu/stopwatch.h"
#include "engine/backend.h"

namespace warpmer::cpu {

template <class Key, int Words>
class ShardedSession : public engine::CountingSession {
 public:
  ShardedSession(const Kernels& kernels, const engine::CountPlan& plan)
      : kernels_(kernels),
        plan_(plan),
        shards_(1u << shard_bits(plan.k)),
        pending_(pool_, shards_),
        runs_(shards_),
        exchange_(plan.devices),
        threads_in_(plan.threads) {
    const std::uint64_t fixed = fixed_bytes(plan), least = least_bytes(plan);
    if (plan.memory_bytes < least) {
      throw ResourceError(fmt::format(
          "-m leaves {} MB for counting with {} threads, which takes {} MB at least; "
          "raise -m by {} MB or lower -t",
          plan.memory_bytes >> 20, plan.threads, (least >> 20) + 1, ((least - plan.memory_bytes) >> 20) + 1));
    }
    budget_ = static_cast<std::uint64_t>(static_cast<double>(plan.memory_bytes - fixed) / (1 + tables(plan)));
    for (unsigned t = 0; t < plan.threads; ++t)
      workers_.emplace_back(kernels, plan, shards_, pool_, stock_pages(budget_, plan.threads));
  }

  /// What a session with this plan is going to hold, by what the constructor and `relieve` do.
  static engine::SessionForecast forecast(const engine::CountPlan& plan,
                                          const engine::ExpectedKmers& expected) {
    const double shards = 1u << shard_bits(plan.k);
    const auto fixed = static_cast<double>(fixed_bytes(plan)),
               memory = static_cast<double>(plan.memory_bytes);
    const double share = 1 + tables(plan), budget = std::max(0.0, memory - fixed) / share;
    // Pages have a link, and each shard's last one is half empty; threads have some in stock.
    const double words = expected.pending_bytes / sizeof(SuperKmer<Words>);
    const double filled = words / PendingPage<Words>::kCapacity + std::min(words, shards) / 2;
    const double stock =
        plan.threads * static_cast<double>(stock_pages(
                           static_cast<std::uint64_t>(filled * PagePool::kPageBytes), plan.threads));
    const double pages = (filled + stock) * PagePool::kPageBytes;
    const auto least_pages = static_cast<double>(least_pending_bytes(1u << shard_bits(plan.k)));
    engine::SessionForecast forecast;
    forecast.least_bytes = static_cast<double>(least_bytes(plan));
    forecast.unhurried_bytes = std::max(forecast.least_bytes, fixed + pages * share);
    forecast.needed_bytes = std::clamp(fixed + (expected.run_bytes + least_pages) * share,
                                       forecast.least_bytes, forecast.unhurried_bytes);
    if (memory >= forecast.unhurried_bytes) {
      forecast.peak_low_bytes = expected.pending_bytes;  // if all are in a few shards
      forecast.peak_high_bytes = forecast.unhurried_bytes;
    } else {
      forecast.peak_low_bytes = budget / 4 * 3;
      forecast.peak_high_bytes = memory;
      forecast.beyond_bytes = std::max(0.0, pages - budget);
    }
    return forecast;
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
          if (over_budget()) relieve(worker);
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
        worker.loads.note_shard(shard, size);
        const std::size_t kept = worker.tally.filter(keys, counts, size);
        frozen = worker.freezer.freeze(keys, counts, kept, std::move(frozen.payload));
      });
      sink(shard, std::move(frozen));
    }
  }

  /// When the input is complete: counts a shard, once, and calls `use(keys, counts, size)` with all of its
  /// k-mers (their hashes) in canonical order. Called concurrently like `finish`, of which it is a part.
  template <class Use>
  void take(std::uint32_t shard, unsigned thread, Use&& use) {
    Worker& worker = workers_[thread];
    Run& run = runs_[shard];
    count(worker, shard, run);
    const Stopwatch watch(worker.times.freeze_seconds);
    ShardCounter<Key, Words>& counter = *worker.counter;
    run.entries = {};
    use(counter.keys(), counter.counts(), counter.size());
    trim(worker);
    // With little memory, what pending words no longer need goes to the tables and the writer.
    if (pool_.bytes_resident() > budget_ / 2) pool_.shrink(budget_ / 2);
  }

  [[nodiscard]] engine::Tally tally() const override {
    engine::Tally all(plan_.min_count, plan_.max_count);
    for (const Worker& worker : workers_) all.merge(worker.tally);
    return all;
  }

  [[nodiscard]] std::vector<engine::StageReport> stages() const override {
    StageTimes all;
    for (const Worker& worker : workers_) all.add(worker.times);
    return all.reports();
  }

  [[nodiscard]] std::vector<engine::OwnerLoad> owner_loads() const override {
    engine::OwnerLoads all(plan_.devices, shards_);
    for (const Worker& worker : workers_) all.merge(worker.loads);
    return all.loads();
  }

  [[nodiscard]] std::uint64_t early_counts() const override { return early_counts_; }

 private:
  /// A shard's frozen run, from when it was counted early.
  struct Run {
    std::atomic<bool> busy{false};  ///< a thread is counting it early
    index::FrozenShard entries;
    std::atomic<std::uint64_t> held_bytes{0};  ///< of the entries; a hint for who is not counting it
  };

  struct Worker {
    Worker(const Kernels& kernels, const engine::CountPlan& plan, std::uint32_t shards, PagePool& pool,
           std::size_t stock_pages)
        : cutter(kernels, plan.k, plan.lenient),
          split(shards, Cutter<Words>::kCapacity),
          stock(pool, stock_pages),
          freezer(kernels, plan.k),
          tally(plan.min_count, plan.max_count),
          loads(plan.devices, shards) {}

    static std::uint64_t memory_bytes() {
      return Cutter<Words>::memory_bytes() + Cutter<Words>::kCapacity * sizeof(SuperKmer<Words>) +
             kCounterBytes + kFreezerBytes;
    }

    Cutter<Words> cutter;
    Multisplit<Words> split;
    PageStock stock;
    std::unique_ptr<ShardCounter<Key, Words>> counter;
    Freezer freezer;
    engine::Tally tally;
    engine::OwnerLoads loads;
    StageTimes times;
  };

  /// What a ShardCounter holds for shards of ordinary size; what it is trimmed to after larger ones.
  static constexpr std::uint64_t kCounterBytes = std::uint64_t{4} << 20;
  /// The same for a Freezer.
  static constexpr std::uint64_t kFreezerBytes = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kTrimBytes = std::uint64_t{64} << 20;
  static constexpr std::uint64_t kShardBytes = sizeof(Run) + 64;
  static constexpr std::uint32_t kPrefetchShards = 8;
  /// Parcels in an inbox beyond which the sender delivers them himself.
  static constexpr std::size_t kInboxParcels = 4;

  // --- Of CountPlan::memory_bytes.

  static std::uint64_t fixed_bytes(const engine::CountPlan& plan) {
    return plan.threads * Worker::memory_bytes() + (std::uint64_t{1} << shard_bits(plan.k)) * kShardBytes;
  }
  /// With less than this no session begins.
  static std::uint64_t least_bytes(const engine::CountPlan& plan) {
    return fixed_bytes(plan) + (2 * std::uint64_t{PagePool::kPageBytes} << shard_bits(plan.k));
  }
  /// What counting and freezing a shard take, arrays and table, by all pending words, one shard per thread
  /// at a time: up to 17 + 8 times as much as the shard's for narrow keys and 36 for wide ones, whichever
  /// table it is; and a shard may be twice the mean.
  static double tables(const engine::CountPlan& plan) {
    return (sizeof(Key) == 8 ? 56.0 : 70.0) * plan.threads / (1u << shard_bits(plan.k));
  }

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
      worker.loads.note_super_kmers(0, worker.split.offset(shards_));
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
      worker.loads.note_super_kmers(owner, parcel.words.size());
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

  /// Counts what is pending in a shard together with its run; the result is in the worker's counter.
  void count(Worker& worker, std::uint32_t shard, Run& run) {
    const Stopwatch watch(worker.times.count_seconds);
    if (!worker.counter) {
      worker.counter =
          std::make_unique<ShardCounter<Key, Words>>(kernels_, plan_.k, plan_.canonical, plan_.table);
    }
    const PendingList<Words> list = pending_.take(shard);
    worker.counter->count(list, &run.entries);
    pending_.release(list);
  }

  /// Gives back what unusually large shards needed.
  void trim(Worker& worker) const {
    const std::uint64_t most = std::min(kTrimBytes, std::max(kCounterBytes, budget_ / (8 * plan_.threads)));
    worker.counter->trim(most);
    worker.freezer.trim(most / kCounterBytes * kFreezerBytes);
  }

  // --- Early counting: when a thread has nothing else to do, or memory is short.

  /// What a thread may have in stock: little where memory is short, else a huge page.
  static std::size_t stock_pages(std::uint64_t budget, unsigned threads) {
    constexpr std::uint64_t kLeast = 16;
    return std::clamp(budget / (32 * threads * PagePool::kPageBytes), kLeast,
                      std::uint64_t{PagePool::kHugePageBytes / PagePool::kPageBytes});
  }

  [[nodiscard]] std::uint64_t room_for_pending() const {
    const std::uint64_t runs = run_bytes_;
    return budget_ > runs ? budget_ - runs : 0;
  }
  static std::uint64_t least_pending_bytes(std::uint32_t shards) {
    return std::uint64_t{shards} * PagePool::kPageBytes * 3 / 2;
  }
  [[nodiscard]] bool over_budget() const { return pool_.bytes_in_use() > room_for_pending(); }

  /// Counts the fullest shards early, until a quarter of the room is free again.
  void relieve(Worker& worker) {
    while (pool_.bytes_in_use() > room_for_pending() / 4 * 3) {
      const std::uint32_t shard = fullest_shard();
      if (shard == shards_) break;  // the others' turn
      count_early(worker, shard);
      pool_.shrink(room_for_pending());
      // Each shard's last page is half empty: below this, counting frees next to nothing.
      if (room_for_pending() < least_pending_bytes(shards_)) throw_out_of_memory();
    }
    if (worker.counter) worker.counter->trim(kCounterBytes);
    worker.freezer.trim(kFreezerBytes);
  }

  /// The shard with the most pending pages that no one is counting early, or `shards_`.
  std::uint32_t fullest_shard() {
    std::uint32_t best = shards_, most = 1;
    for (std::uint32_t shard = 0; shard < shards_; ++shard) {
      const std::uint32_t pages = pending_.pages(shard);
      if (pages > most && !runs_[shard].busy) {
        most = pages;
        best = shard;
      }
    }
    return best;
  }

  /// False when someone else is at it.
  bool count_early(Worker& worker, std::uint32_t shard) {
    Run& run = runs_[shard];
    if (run.busy.exchange(true)) return false;
    count(worker, shard, run);
    const Stopwatch watch(worker.times.freeze_seconds);
    run.entries =
        worker.freezer.freeze(worker.counter->keys(), worker.counter->counts(), worker.counter->size());
    const std::uint64_t held = run.entries.payload.capacity() * sizeof(std::uint64_t);
    run_bytes_ += held - run.held_bytes;
    run.held_bytes = held;
    ++early_counts_;
    run.busy = false;
    return true;
  }

  [[noreturn]] void throw_out_of_memory() const {
    const std::uint64_t held = run_bytes_;
    const double fraction = plan_.input_fraction ? plan_.input_fraction() : 0;
    // What is not k-mers: the rest of the process, tables and buffers, and a page for every shard.
    const std::uint64_t reserved =
        plan_.other_bytes + (plan_.memory_bytes - budget_) + least_pending_bytes(shards_);
    const std::uint64_t cap = plan_.other_bytes + plan_.memory_bytes;
    std::string needed = fmt::format("more than {} MB", std::max(held + reserved, cap) >> 20);
    if (fraction > 0 && fraction < 1) {
      const double whole = std::max(static_cast<double>(held) / fraction + static_cast<double>(reserved),
                                    static_cast<double>(cap)) *
                           1.1;
      needed = fmt::format("about {:.0f} MB in all ({:.0f} % of the input is read)", whole / (1 << 20),
                           100 * fraction);
    }
    throw ResourceError(
        fmt::format("the memory allowed by -m is used up: the distinct k-mers need {}; raise -m", needed));
  }

  const Kernels& kernels_;
  const engine::CountPlan plan_;
  std::uint32_t shards_;
  PagePool pool_;
  PendingStore<Words> pending_;
  std::vector<Run> runs_;
  std::deque<Worker> workers_;
  comm::InProcessExchange<Words> exchange_;
  std::uint64_t budget_ = 0;  ///< for pending words and runs together
  std::atomic<unsigned> threads_in_;
  std::atomic<std::uint32_t> next_shard_{0};
  std::atomic<std::uint64_t> run_bytes_{0};
  std::atomic<std::uint64_t> early_counts_{0};
};

}  // namespace warpmer::cpu
