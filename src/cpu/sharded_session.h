#pragma once
/// Counting for k > 12: cut, split, exchange, pend; then count and freeze shard by shard.

#include <fmt/core.h>

#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/minimizer.h"
#include "cpu/cutter.h"
#include "cpu/freezer.h"
#include "cpu/multisplit.h"
#include "cpu/pending_store.h"
#include "cpu/shard_counter.h"
#include "cpu/shard_exchange.h"
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
        exchange_(*plan.ranks, shards_, plan.devices, plan.threads),
        next_shard_(exchange_.first_shard()) {
    const unsigned workers = plan.threads + (plan.ranks->are_several() ? 1 : 0);
    const std::uint64_t fixed = workers * Worker::memory_bytes() + shards_ * kShardBytes;
    const std::uint64_t least = fixed + 2 * std::uint64_t{shards_} * PagePool::kPageBytes;
    if (plan.memory_bytes < least) {
      throw ResourceError(fmt::format(
          "-m leaves {} MB for counting with {} threads, which takes {} MB at least; "
          "raise -m by {} MB or lower -t",
          plan.memory_bytes >> 20, plan.threads, (least >> 20) + 1, ((least - plan.memory_bytes) >> 20) + 1));
    }
    // What counting and freezing a shard take, arrays and table, by its pending words, one shard per thread
    // at a time: up to 17 + 8 times as much for narrow keys and 36 for wide ones, whichever table
    // it is; and a shard may be twice the mean.
    const double tables = (sizeof(Key) == 8 ? 56.0 : 70.0) * plan.threads / shards_;
    budget_ = static_cast<std::uint64_t>(static_cast<double>(plan.memory_bytes - fixed) / (1 + tables));
    for (unsigned t = 0; t < workers; ++t)
      workers_.emplace_back(kernels, plan, shards_, pool_, stock_pages());
    if (plan.ranks->are_several()) courier_ = std::thread([this] { deliver_until_complete(); });
  }

  ~ShardedSession() override {
    has_ended_ = true;
    if (courier_.joinable()) courier_.join();
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
    exchange_.end(appender(worker));
    return 0;
  }

  void finish(unsigned thread, const engine::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    Worker& worker = workers_[thread];
    index::FrozenShard frozen;
    for (std::uint32_t shard; (shard = next_shard_.fetch_add(1)) < exchange_.end_shard(); shard_done()) {
      take(shard, thread, [&](Key* keys, std::uint64_t* counts, std::size_t size) {
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

  [[nodiscard]] std::uint64_t early_counts() const override { return early_counts_; }

  [[nodiscard]] std::uint64_t owned_super_kmers() const override {
    std::uint64_t words = 0;
    for (const Worker& worker : workers_) words += worker.owned_words;
    return words;
  }

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
          tally(plan.min_count, plan.max_count) {}

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
    StageTimes times;
    std::uint64_t owned_words = 0;  ///< that it has appended to shards of this rank
  };

  /// What a ShardCounter holds for shards of ordinary size; what it is trimmed to after larger ones.
  static constexpr std::uint64_t kCounterBytes = std::uint64_t{4} << 20;
  /// The same for a Freezer.
  static constexpr std::uint64_t kFreezerBytes = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kTrimBytes = std::uint64_t{64} << 20;
  static constexpr std::uint64_t kShardBytes = sizeof(Run) + 64;
  static constexpr std::uint32_t kPrefetchShards = 8;
  static constexpr std::chrono::milliseconds kLook{5};

  /// Splits what the cutter has collected, and sends each owner his part.
  void pass_on(Worker& worker, unsigned thread) {
    const auto& list = worker.cutter.list();
    {
      const Stopwatch watch(worker.times.split_seconds);
      worker.split.split(list);
    }
    const Stopwatch watch(worker.times.exchange_seconds);
    worker.times.super_kmer_bytes += list.size * sizeof(SuperKmer<Words>);
    const std::size_t list_size = list.size;
    worker.cutter.clear();
    if (plan_.devices == 1 && !plan_.ranks->are_several()) {
      for (std::uint32_t shard = 0; shard < shards_; ++shard) {
        pending_.prefetch(std::min(shard + kPrefetchShards, shards_ - 1));
        if (const std::size_t n = worker.split.size(shard); n > 0)
          pending_.append(shard, worker.split.begin(shard), n, worker.stock);
      }
      worker.owned_words += list_size;
      return;
    }
    worker.times.exchanged_bytes += exchange_.pass_on(worker.split, thread, plan_.threads, appender(worker));
  }

  /// What appends words to a shard.
  auto appender(Worker& worker) {
    return [this, &worker](std::uint32_t shard, const SuperKmer<Words>* words, std::size_t n) {
      pending_.append(shard, words, n, worker.stock);
      worker.owned_words += n;
    };
  }

  /// Sees to it that what other ranks send is taken, whatever the threads that read are waiting for.
  void deliver_until_complete() {
    Worker& worker = workers_.back();
    try {
      while (!has_ended_ && !exchange_.is_complete()) {
        exchange_.deliver_next(appender(worker), kLook);
        if (over_budget()) relieve(worker);
      }
    } catch (...) {
      plan_.ranks->report(std::current_exception());
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
  [[nodiscard]] std::size_t stock_pages() const {
    constexpr std::uint64_t kLeast = 16;
    return std::clamp(budget_ / (32 * plan_.threads * PagePool::kPageBytes), kLeast,
                      std::uint64_t{PagePool::kHugePageBytes / PagePool::kPageBytes});
  }

  [[nodiscard]] std::uint64_t room_for_pending() const {
    const std::uint64_t runs = run_bytes_;
    return budget_ > runs ? budget_ - runs : 0;
  }
  [[nodiscard]] std::uint64_t least_pending_bytes() const {
    return std::uint64_t{shards_} * PagePool::kPageBytes * 3 / 2;
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
      if (room_for_pending() < least_pending_bytes()) throw_out_of_memory();
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
    const std::uint64_t reserved = plan_.other_bytes + (plan_.memory_bytes - budget_) + least_pending_bytes();
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
  ShardExchange<Words> exchange_;
  std::uint64_t budget_ = 0;  ///< for pending words and runs together
  std::atomic<std::uint32_t> next_shard_;
  std::atomic<std::uint64_t> run_bytes_{0};
  std::atomic<std::uint64_t> early_counts_{0};
  std::atomic<bool> has_ended_{false};
  std::thread courier_;  ///< runs `deliver_until_complete` when there are several ranks
};

}  // namespace warpmer::cpu
