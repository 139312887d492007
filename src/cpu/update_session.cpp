// Updating an index on the CPU: what the two counting sessions have of a shard goes to the shard's live
// table.

#include "engine/update_session.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "cpu/dense_session.h"
#include "cpu/shard_pieces.h"
#include "cpu/shard_table.h"
#include "cpu/sharded_session.h"
#include "cpu/sorted_lists.h"
#include "engine/dense_update.h"
#include "index/shard_codec.h"

namespace warpmer::cpu {

namespace {

/// What a table for so many keys takes, and what goes into it a part at a time.
template <class Key>
std::uint64_t bytes_for(std::uint64_t keys) {
  return ShardTable<Key>::bytes_for(keys) + keys * 2 * (sizeof(Key) + sizeof(std::uint64_t));
}
template <class Key>
std::uint64_t most_entries(std::uint64_t bytes) {
  constexpr std::uint64_t kMany = std::uint64_t{1} << 20;
  return static_cast<std::uint64_t>(static_cast<double>(bytes) / static_cast<double>(bytes_for<Key>(kMany)) *
                                    static_cast<double>(kMany));
}
/// With fewer entries in a table than this, updating a large shard would take very many parts.
constexpr std::uint64_t kLeastEntries = std::uint64_t{1} << 14;

constexpr engine::CountBounds kAllCounts{};

/// The largest hash in part `part` of 2^part_bits.
template <class Key>
Key last_of_part(std::uint64_t part, std::uint32_t part_bits, std::uint32_t k) {
  const std::uint32_t rest_bits = 2 * k - part_bits;
  const Key rest = rest_bits >= kKeyBits<Key> ? ~Key{0} : (Key{1} << rest_bits) - 1;
  return part_bits == 0 ? rest : (static_cast<Key>(part) << rest_bits) | rest;
}

/// k > 12: shard by shard, each in the table of the thread that takes it.
template <class Key, int Words>
class ShardedUpdate : public engine::UpdatingSession {
 public:
  ShardedUpdate(const Kernels& kernels, const engine::UpdatePlan& plan, const index::IndexFile& index)
      : index_(index),
        threads_((plan.added ? plan.added : plan.removed)->threads),
        most_entries_(most_entries<Key>(plan.table_bytes / threads_)) {
    if (plan.added) added_ = std::make_unique<Session>(kernels, *plan.added);
    if (plan.removed) removed_ = std::make_unique<Session>(kernels, *plan.removed);
    for (unsigned t = 0; t < threads_; ++t) workers_.emplace_back(kernels, index);
  }

  [[nodiscard]] engine::CountingSession* added() override { return added_.get(); }
  [[nodiscard]] engine::CountingSession* removed() override { return removed_.get(); }

  void finish(unsigned thread, const engine::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    Worker& worker = workers_[thread];
    const std::uint32_t shards = index_.params().shards();
    for (std::uint32_t shard; (shard = next_shard_.fetch_add(1)) < shards; shard_done()) {
      sink(shard, update(worker, shard, thread));
      worker.table.trim(kTableBytes);
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

 private:
  using Session = ShardedSession<Key, Words>;
  /// What a session has of a shard, if it is not used at once.
  using Spilled = std::shared_ptr<const SpilledShard<Key>>;
  struct Worker {
    Worker(const Kernels& kernels, const index::IndexFile& index)
        : table(index.params().k),
          freezer(kernels, index.params().k),
          of_index({&index, 1}, {&kAllCounts, 1}) {}
    ShardTable<Key> table;
    Freezer freezer;
    ShardParts<Key> of_index;  ///< a shard of the index, for which the table is too small
    engine::Tally tally{1, UINT64_MAX};
    engine::Shortfall shortfall;
  };
  /// What a table of ordinary size is trimmed to after a larger one.
  static constexpr std::uint64_t kTableBytes = std::uint64_t{4} << 20;

  /// Everything is added before anything is removed, so that the order of reads does not matter.
  index::FrozenShard update(Worker& worker, std::uint32_t shard, unsigned thread) {
    bool is_loaded = false;  // the table has what the index has, and what is added
    const auto load_if_it_fits = [&](const Key* keys, const std::uint64_t* counts, std::size_t size) {
      is_loaded = index_.shape(shard).entries + size <= most_entries_;
      if (is_loaded) load(worker, shard, keys, counts, size);
      return is_loaded;
    };
    Spilled added, removed;
    if (added_) {
      added = take(*added_, worker, shard, thread, [&](const ShardPart<Key>& part) {
        return part.is_all && load_if_it_fits(part.keys, part.counts, part.size);
      });
    } else {
      load_if_it_fits(nullptr, nullptr, 0);
    }
    if (removed_) {
      removed = take(*removed_, worker, shard, thread, [&](const ShardPart<Key>& part) {
        for (std::size_t i = 0; is_loaded && i < part.size; ++i) remove(worker, part.keys[i], part.counts[i]);
        return is_loaded;
      });
    }
    if (!is_loaded) return update_in_parts(worker, shard, added, removed);
    const std::size_t kept = harvest(worker);
    return worker.freezer.freeze(worker.table.keys(), worker.table.counts(), kept);
  }

  /// Takes a shard from a session. What `use(part)` says it has not used goes to the spill file.
  template <class Use>
  Spilled take(Session& session, Worker& worker, std::uint32_t shard, unsigned thread, const Use& use) {
    std::optional<ShardSpill<Key>> spill;
    session.take(shard, thread, [&](const ShardPart<Key>& part) {
      if (use(part)) return;
      if (!spill) spill.emplace(session.shard_spill());
      spill->append(part.keys, part.counts, part.size, worker.freezer);
    });
    return spill ? spill->finish_entries() : nullptr;
  }

  /// Loads the table with a shard of the index, and what is added.
  void load(Worker& worker, std::uint32_t shard, const Key* keys, const std::uint64_t* counts,
            std::size_t size) {
    worker.table.reset(index_.shape(shard).entries + size);
    engine::for_each_entry_of<Key>(index_, shard,
                                   [&](Key key, std::uint64_t count) { worker.table.add(key, count); });
    index_.release(shard);
    for (std::size_t i = 0; i < size; ++i) worker.table.add(keys[i], counts[i]);
  }

  static void remove(Worker& worker, Key key, std::uint64_t count) {
    const auto done = worker.table.remove(key, count);
    if (done.missing > 0) worker.shortfall.note(done.there, done.missing);
  }

  /// What is left in the table, in order; returns how much it is.
  static std::size_t harvest(Worker& worker) {
    ShardTable<Key>& table = worker.table;
    table.harvest();
    return worker.tally.filter(table.keys(), table.counts(), table.size());
  }

  /// A shard for which the table is too small: one range of hashes after the other.
  index::FrozenShard update_in_parts(Worker& worker, std::uint32_t shard, const Spilled& added,
                                     const Spilled& removed) {
    const std::uint32_t k = index_.params().k;
    const std::uint64_t entries = index_.shape(shard).entries + (added ? added->entries() : 0);
    // Parts are not all of the same size.
    const std::uint32_t part_bits = part_bits_of(entries, most_entries_ / 2, k);
    worker.of_index.open(shard, part_bits);
    SpilledEntries<Key> to_add(added), to_remove(removed);
    ListBuffer<Key> list;
    std::vector<std::pair<Key, std::uint64_t>> more;
    ShardSpill<Key> result = (added_ ? added_ : removed_)->shard_spill();
    for (std::uint64_t part = 0; part < worker.of_index.parts(); ++part) {
      const Key last = last_of_part<Key>(part, part_bits, k);
      worker.of_index.read(0, part, list);
      more.clear();
      to_add.take_to(last, [&](Key key, std::uint64_t count) { more.emplace_back(key, count); });
      worker.table.reset(list.size + more.size());
      for (std::size_t i = 0; i < list.size; ++i) worker.table.add(list.hashes()[i], list.counts()[i]);
      for (const auto& [key, count] : more) worker.table.add(key, count);
      to_remove.take_to(last, [&](Key key, std::uint64_t count) { remove(worker, key, count); });
      const std::size_t kept = harvest(worker);
      result.append(worker.table.keys(), worker.table.counts(), kept, worker.freezer);
    }
    worker.of_index.close();
    return result.finish();
  }

  const index::IndexFile& index_;
  const unsigned threads_;
  const std::uint64_t most_entries_;  ///< of a thread's table
  std::unique_ptr<Session> added_, removed_;
  std::deque<Worker> workers_;
  std::atomic<std::uint32_t> next_shard_{0};
};

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::engine {

UpdateNeeds update_needs(const index::IndexFile& index, unsigned threads) {
  const index::IndexParams& params = index.params();
  if (params.k <= kMaxDenseK) return {};  // the sessions' own arrays do
  std::vector<std::uint64_t> payloads;
  for (std::uint32_t shard = 0; shard < params.shards(); ++shard)
    payloads.push_back(index::payload_layout(index.shape(shard), params.k).words * sizeof(std::uint64_t));
  std::sort(payloads.begin(), payloads.end(), std::greater<>());
  payloads.resize(std::min<std::size_t>(payloads.size(), threads));
  return {std::accumulate(payloads.begin(), payloads.end(), std::uint64_t{0}),
          threads * with_key_type(params.k,
                                  [&]<class Key>(Key) { return cpu::bytes_for<Key>(cpu::kLeastEntries); })};
}

std::unique_ptr<UpdatingSession> make_cpu_update(const UpdatePlan& plan, const index::IndexFile& index) {
  const cpu::Kernels& kernels = cpu::best_kernels();
  if (index.params().k <= kMaxDenseK) {
    const auto start = [&](const std::optional<CountPlan>& whole) {
      return whole ? std::make_unique<cpu::DenseSession>(kernels, *whole) : nullptr;
    };
    return std::make_unique<DenseUpdate<cpu::DenseSession>>(start(plan.added), start(plan.removed), index);
  }
  return with_shard_types(index.params().k, [&]<class Key, int Words>() -> std::unique_ptr<UpdatingSession> {
    return std::make_unique<cpu::ShardedUpdate<Key, Words>>(kernels, plan, index);
  });
}

}  // namespace warpmer::engine
