#include "backend/sample_session.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <string>

#include "backend/dense_counts.h"
#include "base/clock.h"
#include "cpu/count/dense_session.h"
#include "cpu/count/pending_store.h"
#include "cpu/count/tally_filter.h"
#include "cpu/count/word_joiner.h"
#include "cpu/memory/multisplit.h"
#include "cpu/simd/flanked_cutter.h"
#include "groups/word_counter.h"
#include "kmer/minimizer.h"
#include "system/huge_pages.h"

namespace warpmer::cpu {

namespace {

/// Fewer shards than this would say little about the others.
constexpr std::uint32_t kLeastShards = 16;
/// Bytes that a counter is trimmed to after an unusually large shard.
constexpr std::uint64_t kMostCounterBytes = std::uint64_t{64} << 20;

/// Halves are looked at in one shard of so many, because that takes longer.
constexpr std::uint32_t kShardsForOneHalved = 8;

/// Returns one of two halves, as good as random, by where a batch comes from: the same whichever thread reads
/// it.
unsigned half_of(const io::Batch& batch) {
  const std::uint64_t record = batch.pieces.empty() ? 0 : batch.pieces.front().record;
  const std::uint64_t mixed = (std::hash<std::string>{}(batch.file) ^ record) * 0x9e3779b97f4a7c15u;
  return static_cast<unsigned>(mixed >> 63);
}

template <int Words>
class ShardedSample : public backend::SampleSession {
  using Word = groups::FlankedWord<Words>;

 public:
  ShardedSample(const Kernels& kernels, const backend::SamplePlan& plan)
      : plan_(plan),
        shards_(1u << shard_bits(plan.count.kmers.k)),
        shape_(plan.count.kmers.k),
        lengths_(groups::make_length_table(shape_.flank_bases())),
        joiner_(plan.count.kmers.k),
        loads_(shards_) {
    for (int half = 0; half < 2; ++half) pending_.emplace_back(pool_, shards_, plan.count.kmers.k);
    sample_.shards.resize(shards_);
    sample_.word_bytes = sizeof(Word);
    for (unsigned t = 0; t < plan.count.threads; ++t)
      workers_.emplace_back(kernels, plan.count, shards_, pool_);
  }

  std::uint64_t add(io::Batch& batch, unsigned thread) override {
    SampleWorker& worker = workers_[thread];
    const unsigned half = half_of(batch);
    std::uint64_t kmers = 0;
    for (const io::Piece& piece : batch.pieces)
      kmers += worker.cutter.cut(batch, piece, 0, [&] { scatter(worker, half); });
    scatter(worker, half);
    return kmers;
  }

  void finish(unsigned thread) override {
    give_up_shards();
    SampleWorker& worker = workers_[thread];
    for (std::uint32_t shard; (shard = next_shard_.fetch_add(1)) < kept_;) {
      const Stopwatch watch(worker.count_seconds);
      count(worker, shard);
    }
  }

  [[nodiscard]] backend::KmerSample sample() const override {
    backend::KmerSample sample = sample_;
    for (std::uint32_t shard = 0; shard < shards_; ++shard) {
      sample.shards[shard].kmers = loads_[shard].kmers;
      sample.shards[shard].words = loads_[shard].words;
    }
    backend::Tally all, halved;
    for (const SampleWorker& worker : workers_) {
      all.merge(worker.all);
      halved.merge(worker.halved);
      sample.half.kmers += worker.half_kmers;
      sample.half.distinct += worker.half_distinct;
      sample.count_seconds += worker.count_seconds;
    }
    all.merge(halved);
    sample.histogram = all.histogram();
    sample.half.histogram = halved.histogram();
    return sample;
  }

 private:
  struct ShardLoad {
    std::atomic<std::uint64_t> kmers{0}, words{0};
  };

  struct SampleWorker {
    SampleWorker(const Kernels& kernels, const backend::CountPlan& plan, std::uint32_t shards, PagePool& pool)
        : cutter(kernels, plan.kmers.k, plan.kmers.canonical, plan.reading.lenient),
          split(shards, FlankedCutter<Words>::kCapacity),
          stock(pool, system::kHugePageBytes / PagePool::kPageBytes),
          counter(plan.kmers.k) {}

    FlankedCutter<Words> cutter;
    Multisplit<Word> split;
    PageStock stock;
    groups::WordCounter<Words, StoredFlankedFormat<Words>> counter;
    backend::Tally all, halved;  ///< shards are in one of them
    std::uint64_t half_kmers = 0, half_distinct = 0;
    double count_seconds = 0;
  };

  void scatter(SampleWorker& worker, unsigned half) {
    joiner_.join(worker.cutter.list());
    worker.split.split(worker.cutter.list());
    worker.cutter.clear();
    const std::uint32_t kept = kept_;
    for (std::uint32_t shard = 0; shard < shards_; ++shard) {
      const std::size_t n = worker.split.size(shard);
      if (n == 0) continue;
      const Word* const words = worker.split.begin(shard);
      loads_[shard].kmers.fetch_add(joiner_.kmers(words, n), std::memory_order_relaxed);
      loads_[shard].words.fetch_add(n, std::memory_order_relaxed);
      if (shard < kept) pending_[is_halved(shard) ? half : 0].append(shard, words, n, worker.stock);
    }
    give_up_shards();
  }

  /// Shards are numbered by a hash, so the first ones are as good as any. The words of each alone, which only
  /// become more, decide how many are kept in the end: not threads, nor the time when this is called.
  void give_up_shards() {
    const std::lock_guard lock(mutex_);
    while (kept_ > kLeastShards && held_bytes(kept_) > plan_.most_bytes) {
      const std::uint32_t end = kept_;
      kept_ = end / 2;
      for (std::uint32_t shard = kept_; shard < end; ++shard) {
        for (PendingStore<Word>& pending : pending_) pending.release(pending.take(shard));
      }
    }
  }

  [[nodiscard]] std::uint64_t held_bytes(std::uint32_t kept) const {
    std::uint64_t words = 0;
    for (std::uint32_t shard = 0; shard < kept; ++shard)
      words += loads_[shard].words.load(std::memory_order_relaxed);
    return words * sizeof(Word);
  }

  [[nodiscard]] bool is_halved(std::uint32_t shard) const {
    return plan_.halves && shard < shards_ / kShardsForOneHalved;
  }

  void count(SampleWorker& worker, std::uint32_t shard) {
    std::vector<groups::ShardBits> before;
    groups::EncodedShard half;
    if (is_halved(shard)) {
      backend::Tally tally;
      TallyFilter filter(tally);
      add_list(worker, pending_[0], shard);
      half = worker.counter.count({}, filter);
      before.emplace_back(shape_, half.sizes, half.payload.data(), lengths_.data());
      worker.half_distinct += filter.kmers();
      worker.half_kmers += tally.totals().counted_kmers;
    }
    TallyFilter filter(is_halved(shard) ? worker.halved : worker.all, plan_.count.kept);
    add_list(worker, pending_[is_halved(shard) ? 1 : 0], shard);
    const groups::EncodedShard counted = worker.counter.count(before, filter);
    sample_.shards[shard].is_counted = true;
    sample_.shards[shard].distinct = filter.kmers();
    sample_.shards[shard].stored = counted.sizes.kmers;
    sample_.shards[shard].payload_words = counted.sizes.words;
    if (worker.counter.memory_bytes() > kMostCounterBytes) worker.counter.clear();
  }

  /// Adds a shard's pending words to the counter.
  static void add_list(SampleWorker& worker, PendingStore<Word>& pending, std::uint32_t shard) {
    const PendingList<Word> list = pending.take(shard);
    worker.counter.begin(list.words);
    ListedWords<Word>{pending.format(), list}.for_each_page(
        [&](const auto* some, std::size_t n) { worker.counter.add(some, n); });
    pending.release(list);
  }

  const backend::SamplePlan plan_;
  const std::uint32_t shards_;
  const groups::GroupShape shape_;
  const std::vector<groups::FlankLengths> lengths_;
  const WordJoiner<Words> joiner_;
  PagePool pool_;
  std::deque<PendingStore<Word>> pending_;  ///< one store for each half
  std::vector<ShardLoad> loads_;
  std::deque<SampleWorker> workers_;
  std::mutex mutex_;  ///< held by the thread that gives up shards
  std::atomic<std::uint32_t> kept_ = shards_;
  std::atomic<std::uint32_t> next_shard_{0};
  backend::KmerSample sample_;
};

/// For k <= 12: all k-mers are in one shard, and that is counted.
class DenseSample : public backend::SampleSession {
 public:
  DenseSample(const Kernels& kernels, const backend::SamplePlan& plan)
      : plan_(plan.count), session_(kernels, plan.count) {}

  std::uint64_t add(io::Batch& batch, unsigned thread) override { return session_.add(batch, thread); }

  void finish(unsigned thread) override {
    if (thread != 0) return;
    std::vector<std::uint64_t> counts = session_.sums();
    backend::ShardSample& sample = sample_.shards.emplace_back();
    sample.is_counted = true;
    const Stopwatch watch(sample_.count_seconds);
    backend::Tally kept(plan_.kept);
    if (plan_.kmers.canonical) backend::fold_strands(counts, plan_.kmers.k);
    backend::Tally all;
    for (const std::uint64_t count : counts) {
      if (count > 0) all.note(count, 1);
    }
    sample.payload_words =
        backend::freeze_dense(session_.sums(), plan_.kmers.k, plan_.kmers.canonical, kept).payload.size();
    sample.kmers = all.totals().counted_kmers;
    sample.distinct = all.totals().counted_distinct;
    sample.stored = kept.totals().stored_distinct;
    sample_.histogram = all.histogram();
  }

  [[nodiscard]] backend::KmerSample sample() const override { return sample_; }

 private:
  const backend::CountPlan plan_;
  DenseSession session_;
  backend::KmerSample sample_;
};

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::backend {

std::unique_ptr<SampleSession> make_cpu_sample(const SamplePlan& plan) {
  const cpu::Kernels& kernels = cpu::best_kernels();
  std::unique_ptr<SampleSession> session;
  if (plan.count.kmers.k <= kMaxDenseK) {
    session = std::make_unique<cpu::DenseSample>(kernels, plan);
  } else {
    groups::with_flanked_words(plan.count.kmers.k, [&]<int Words>() {
      session = std::make_unique<cpu::ShardedSample<Words>>(kernels, plan);
    });
  }
  return session;
}

}  // namespace warpmer::backend
