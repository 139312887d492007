// Updating an index on the CPU: what the two counting sessions have of a shard goes to the shard's live
// table.

#include "engine/update_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <deque>

#include "core/error.h"
#include "core/hash.h"
#include "cpu/dense_session.h"
#include "cpu/shard_table.h"
#include "cpu/sharded_session.h"
#include "engine/dense_counts.h"
#include "index/shard_codec.h"

namespace warpmer::cpu {

namespace {

/// Calls `visit(hash, count)` for every entry of a shard. InputError when there are more than it says.
template <class Key, class Visit>
void for_each_entry_of(const index::IndexFile& index, std::uint32_t shard, const Visit& visit) {
  const index::ShardReader<Key> reader(index.shard(shard), index.params().k);
  std::uint64_t visited = 0;
  reader.for_each([&](Key hash, std::uint64_t count) {
    if (++visited > reader.entries() || count == 0)
      throw InputError(fmt::format("{}: the entries of shard {} are damaged", index.path(), shard));
    visit(hash, count);
  });
}

/// k > 12: shard by shard, each in the table of the thread that takes it.
template <class Key, int Words>
class ShardedUpdate : public engine::UpdatingSession {
 public:
  ShardedUpdate(const Kernels& kernels, const engine::UpdatePlan& plan, const index::IndexFile& index)
      : index_(index) {
    if (plan.added) added_ = std::make_unique<Session>(kernels, *plan.added);
    if (plan.removed) removed_ = std::make_unique<Session>(kernels, *plan.removed);
    const unsigned threads = (plan.added ? plan.added : plan.removed)->threads;
    for (unsigned t = 0; t < threads; ++t) workers_.emplace_back(kernels, index.params().k);
  }

  [[nodiscard]] engine::CountingSession* added() override { return added_.get(); }
  [[nodiscard]] engine::CountingSession* removed() override { return removed_.get(); }

  void finish(unsigned thread, const engine::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    Worker& worker = workers_[thread];
    const std::uint32_t shards = index_.params().shards();
    for (std::uint32_t shard; (shard = next_shard_.fetch_add(1)) < shards; shard_done()) {
      load(worker, shard, thread);
      index_.release(shard);
      if (removed_) remove(worker, shard, thread);
      ShardTable<Key>& table = worker.table;
      table.harvest();
      const std::size_t kept = worker.tally.filter(table.keys(), table.counts(), table.size());
      sink(shard, worker.freezer.freeze(table.keys(), table.counts(), kept));
      table.trim(kTableBytes);
      worker.freezer.trim(kTableBytes);
    }
  }

  [[nodiscard]] engine::Tally tally() const override {
    engine::Tally all(1, UINT64_MAX);
    for (const Worker& worker : workers_) all.merge(worker.tally);
    return all;
  }
  [[nodiscard]] engine::Shortfall shortfall() const override {
    engine::Shortfall all;
    for (const Worker& worker : workers_) all.merge(worker.shortfall);
    return all;
  }
  [[nodiscard]] std::uint64_t early_counts() const override {
    return (added_ ? added_->early_counts() : 0) + (removed_ ? removed_->early_counts() : 0);
  }
  [[nodiscard]] engine::SpillReport spilled() const override {
    engine::SpillReport all;
    for (const Session* session : {added_.get(), removed_.get()}) {
      if (session == nullptr) continue;
      const engine::SpillReport one = session->spilled();
      all.written_bytes += one.written_bytes;
      all.run_bytes += one.run_bytes;
      all.read_bytes += one.read_bytes;
    }
    return all;
  }

 private:
  using Session = ShardedSession<Key, Words>;
  struct Worker {
    Worker(const Kernels& kernels, std::uint32_t k) : table(k), freezer(kernels, k) {}
    ShardTable<Key> table;
    Freezer freezer;
    engine::Tally tally{1, UINT64_MAX};
    engine::Shortfall shortfall;
  };
  /// What a table of ordinary size is trimmed to after a larger one.
  static constexpr std::uint64_t kTableBytes = std::uint64_t{4} << 20;

  /// What the index has of a shard, and what is added.
  void load(Worker& worker, std::uint32_t shard, unsigned thread) {
    const auto fill = [&](const Key* keys, const std::uint64_t* counts, std::size_t size) {
      worker.table.reset(index_.shape(shard).entries + size);
      for_each_entry_of<Key>(index_, shard,
                             [&](Key key, std::uint64_t count) { worker.table.add(key, count); });
      for (std::size_t i = 0; i < size; ++i) worker.table.add(keys[i], counts[i]);
    };
    if (added_) {
      added_->take(shard, thread, fill);
    } else {
      fill(nullptr, nullptr, 0);
    }
  }

  void remove(Worker& worker, std::uint32_t shard, unsigned thread) {
    removed_->take(shard, thread, [&](const Key* keys, const std::uint64_t* counts, std::size_t size) {
      for (std::size_t i = 0; i < size; ++i) {
        const auto done = worker.table.remove(keys[i], counts[i]);
        if (done.missing > 0) worker.shortfall.note(done.there, done.missing);
      }
    });
  }

  const index::IndexFile& index_;
  std::unique_ptr<Session> added_, removed_;
  std::deque<Worker> workers_;
  std::atomic<std::uint32_t> next_shard_{0};
};

/// k <= 12: an array of 4^k counts.
class DenseUpdate : public engine::UpdatingSession {
 public:
  DenseUpdate(const Kernels& kernels, const engine::UpdatePlan& plan, const index::IndexFile& index)
      : index_(index) {
    if (plan.added) added_ = std::make_unique<DenseSession>(kernels, *plan.added);
    if (plan.removed) removed_ = std::make_unique<DenseSession>(kernels, *plan.removed);
  }

  [[nodiscard]] engine::CountingSession* added() override { return added_.get(); }
  [[nodiscard]] engine::CountingSession* removed() override { return removed_.get(); }

  void finish(unsigned thread, const engine::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    if (thread != 0) return;
    const std::uint32_t k = index_.params().k;
    std::vector<std::uint64_t> counts = take(added_);
    const KmerHash<Key64> hash(k);
    for_each_entry_of<Key64>(index_, 0,
                             [&](Key64 h, std::uint64_t count) { counts[hash.inverse(h)] += count; });
    index_.release(0);
    if (removed_) subtract(take(removed_), counts);
    sink(0, engine::freeze_dense(std::move(counts), k, false, tally_));
    shard_done();
  }

  [[nodiscard]] engine::Tally tally() const override { return tally_; }
  [[nodiscard]] engine::Shortfall shortfall() const override { return shortfall_; }
  [[nodiscard]] std::uint64_t early_counts() const override { return 0; }

 private:
  /// What a session has counted, by the k-mers' names in the index; it is used up.
  [[nodiscard]] std::vector<std::uint64_t> take(std::unique_ptr<DenseSession>& session) const {
    const std::uint32_t k = index_.params().k;
    if (!session) return std::vector<std::uint64_t>(std::size_t{1} << (2 * k));
    std::vector<std::uint64_t> counts = session->sums();
    session.reset();
    if (index_.params().canonical) engine::fold_strands(counts, k);
    return counts;
  }

  void subtract(const std::vector<std::uint64_t>& removed, std::vector<std::uint64_t>& counts) {
    for (std::size_t kmer = 0; kmer < counts.size(); ++kmer) {
      if (removed[kmer] > counts[kmer]) shortfall_.note(counts[kmer], removed[kmer] - counts[kmer]);
      counts[kmer] -= std::min(counts[kmer], removed[kmer]);
    }
  }

  const index::IndexFile& index_;
  std::unique_ptr<DenseSession> added_, removed_;
  engine::Tally tally_{1, UINT64_MAX};
  engine::Shortfall shortfall_;
};

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::engine {

std::uint64_t update_bytes(const index::IndexFile& index, unsigned threads) {
  const index::IndexParams& params = index.params();
  if (params.k <= kMaxDenseK) return 0;  // the sessions' own arrays do
  std::uint64_t largest = 0;
  for (std::uint32_t shard = 0; shard < params.shards(); ++shard)
    largest = std::max(largest, index.shape(shard).entries);
  return with_key_type(params.k, [&]<class Key>(Key) {
    // Of the shard itself, its pages in memory.
    return threads * (cpu::ShardTable<Key>::bytes_for(largest) + largest * (sizeof(Key) + sizeof(Key)));
  });
}

std::unique_ptr<UpdatingSession> make_cpu_update(const UpdatePlan& plan, const index::IndexFile& index) {
  const cpu::Kernels& kernels = cpu::best_kernels();
  if (index.params().k <= kMaxDenseK) return std::make_unique<cpu::DenseUpdate>(kernels, plan, index);
  return with_shard_types(index.params().k, [&]<class Key, int Words>() -> std::unique_ptr<UpdatingSession> {
    return std::make_unique<cpu::ShardedUpdate<Key, Words>>(kernels, plan, index);
  });
}

}  // namespace warpmer::engine
