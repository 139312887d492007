// Updating an index on the CPU: a shard of the index is merged with what the two counting sessions have of
// it.

#include "backend/update_session.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "backend/dense_update.h"
#include "cpu/count/dense_session.h"
#include "cpu/count/kmer_session.h"
#include "cpu/count/sorted_merge.h"
#include "cpu/sets/shard_pieces.h"
#include "cpu/sets/sorted_lists.h"
#include "index/shard_codec.h"
#include "index/shard_decoder.h"

namespace warpmer::cpu {

namespace {

/// Returns the bytes that updating a shard takes in memory: two lists, of the result and of what it is merged
/// of, and the result frozen, once for the writer and once in the making.
template <class Key>
std::uint64_t bytes_for(std::uint64_t entries) {
  constexpr std::uint64_t kSpare = index::ShardDecoder<Key>::kSpareEntries;
  return 2 * ListBuffer<Key>::bytes_for(entries + kSpare, false) +
         2 * entries * (sizeof(Key) + sizeof(std::uint32_t)) +
         2 * sizeof(std::uint32_t) * std::bit_ceil(entries + 1);
}
template <class Key>
std::uint64_t most_entries(std::uint64_t bytes) {
  constexpr std::uint64_t kMany = std::uint64_t{1} << 20;
  return static_cast<std::uint64_t>(static_cast<double>(bytes) / static_cast<double>(bytes_for<Key>(kMany)) *
                                    static_cast<double>(kMany));
}

constexpr backend::CountBounds kAllCounts{};

/// Returns the largest hash in part `part` of 2^part_bits.
template <class Key>
Key last_of_part(std::uint64_t part, std::uint32_t part_bits, std::uint32_t k) {
  const std::uint32_t rest_bits = 2 * k - part_bits;
  const Key rest = rest_bits >= kKeyBits<Key> ? ~Key{0} : (Key{1} << rest_bits) - 1;
  return part_bits == 0 ? rest : (static_cast<Key>(part) << rest_bits) | rest;
}

/// A list from which others are removed where it lies. They come in order.
template <class Key>
class Remainder {
 public:
  explicit Remainder(ListBuffer<Key>& list) : list_(list) {}

  /// Takes away counts, of hashes larger than all before, as far as they are there. Like `merge` without a
  /// branch that depends on the hashes.
  void remove(const SortedList<Key>& removed, backend::Shortfall& shortfall) {
    Key* const hashes = list_.hashes();
    std::uint64_t* const counts = list_.counts();
    std::size_t from = from_, to = to_, j = 0;
    while (from < list_.size && j < removed.size) {
      const Key a = hashes[from], b = removed.hashes[j];
      const bool in_list = a <= b, in_removed = b <= a;
      const std::uint64_t there = counts[from];
      const std::uint64_t wanted = removed.counts[j] & (std::uint64_t{0} - in_removed);
      const std::uint64_t found = there & (std::uint64_t{0} - in_list);
      if (wanted > found) [[unlikely]]
        shortfall.note(found, wanted - found);
      const std::uint64_t left = in_list ? there - std::min(there, wanted) : there;
      hashes[to] = a;
      counts[to] = left;
      to += in_list && left != 0 ? 1 : 0;
      from += in_list;
      j += in_removed;
    }
    for (; j < removed.size; ++j) shortfall.note(0, removed.counts[j]);
    from_ = from;
    to_ = to;
  }
  /// To be called when nothing more is to be removed.
  void finish() {
    const std::size_t rest = list_.size - from_;
    if (to_ < from_) {
      std::copy_n(list_.hashes() + from_, rest, list_.hashes() + to_);
      std::copy_n(list_.counts() + from_, rest, list_.counts() + to_);
    }
    list_.size = to_ + rest;
  }

 private:
  ListBuffer<Key>& list_;
  std::size_t from_ = 0;  ///< first entry that has not been compared
  std::size_t to_ = 0;    ///< entries that are left of those before it
};

/// k > 12: shard by shard, each merged by the thread that takes it.
template <class Key, int Words>
class ShardedUpdate : public backend::UpdatingSession {
 public:
  ShardedUpdate(const Kernels& kernels, const backend::UpdatePlan& plan, const index::IndexFile& index)
      : index_(index), most_entries_(most_entries<Key>(plan.merge_bytes / threads_of(plan))) {
    if (plan.added) added_ = std::make_unique<Session>(kernels, *plan.added);
    if (plan.removed) removed_ = std::make_unique<Session>(kernels, *plan.removed);
    for (unsigned t = 0; t < threads_of(plan); ++t) workers_.emplace_back(kernels, index);
  }

  [[nodiscard]] backend::CountingSession* added() override { return added_.get(); }
  [[nodiscard]] backend::CountingSession* removed() override { return removed_.get(); }

  void finish(unsigned thread, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    MergeWorker& worker = workers_[thread];
    const std::uint32_t shards = index_.params().shards();
    for (std::uint32_t shard; (shard = next_shard_.fetch_add(1)) < shards; shard_done()) {
      sink(shard, update(worker, shard, thread));
      worker.trim();
    }
  }

  [[nodiscard]] backend::Tally tally() const override {
    backend::Tally all;
    for (const MergeWorker& worker : workers_) all.merge(worker.tally);
    return all;
  }
  [[nodiscard]] backend::Shortfall shortfall() const override {
    backend::Shortfall all;
    for (const MergeWorker& worker : workers_) all.merge(worker.shortfall);
    return all;
  }

 private:
  using Session = KmerSession<Key, Words>;
  /// The entries that a session has of a shard, if they are not used at once.
  using Spilled = std::shared_ptr<const SpilledShard<Key>>;
  struct MergeWorker {
    MergeWorker(const Kernels& kernels, const index::IndexFile& index)
        : freezer(kernels, index.params().k), of_index({&index, 1}, {&kAllCounts, 1}, true) {}

    /// Gives back what an unusually large shard needed.
    void trim() {
      constexpr std::uint64_t kKeptBytes = std::uint64_t{4} << 20;
      freezer.trim(kKeptBytes);
      if (result.bytes() + part.bytes() + added.bytes() <= kKeptBytes) return;
      for (auto* list : {&result, &part, &added}) list->clear();
    }

    Freezer freezer;
    ShardParts<Key> of_index;
    ListBuffer<Key> result;
    ListBuffer<Key> part;   ///< entries of a part of an index's shard
    ListBuffer<Key> added;  ///< the same range of hashes, from the spill file
    backend::Tally tally;
    backend::Shortfall shortfall;
  };

  static unsigned threads_of(const backend::UpdatePlan& plan) {
    return (plan.added ? plan.added : plan.removed)->threads;
  }
  static SortedList<Key> list_of(const ShardPart<Key>& part) {
    return {part.keys, part.counts, nullptr, part.size};
  }

  /// Everything is added before anything is removed, so that the order of reads does not matter.
  index::FrozenShard update(MergeWorker& worker, std::uint32_t shard, unsigned thread) {
    bool is_merged = false;  // the result has what the index has, and what is added
    const auto merge_if_it_fits = [&](const SortedList<Key>& added) {
      is_merged = index_.kmers(shard) + added.size <= most_entries_;
      if (is_merged) merge_shard(worker, shard, added);
      return is_merged;
    };
    Spilled added, removed;
    if (added_) {
      added = take(*added_, worker, shard, thread, [&](const ShardPart<Key>& part) {
        return part.is_all && merge_if_it_fits(list_of(part));
      });
    } else {
      merge_if_it_fits({});
    }
    Remainder<Key> remainder(worker.result);
    if (removed_) {
      removed = take(*removed_, worker, shard, thread, [&](const ShardPart<Key>& part) {
        if (is_merged) remainder.remove(list_of(part), worker.shortfall);
        return is_merged;
      });
    }
    if (!is_merged) return update_in_parts(worker, shard, added, removed);
    remainder.finish();
    const std::size_t kept = note_result(worker);
    return worker.freezer.freeze(worker.result.hashes(), worker.result.counts(), kept);
  }

  /// Takes a shard from a session. Parts that `use(part)` says it has not used go to the spill file.
  template <class Use>
  Spilled take(Session& session, MergeWorker& worker, std::uint32_t shard, unsigned thread, const Use& use) {
    std::optional<ShardSpill<Key>> spill;
    session.take(shard, thread, [&](const ShardPart<Key>& part) {
      if (use(part)) return;
      if (!spill) spill.emplace(session.shard_spill());
      spill->append(part.keys, part.counts, part.size, worker.freezer);
    });
    return spill ? spill->finish_entries() : nullptr;
  }

  /// Makes the result of a shard of the index, and what is added.
  void merge_shard(MergeWorker& worker, std::uint32_t shard, const SortedList<Key>& added) {
    worker.result.empty();
    worker.result.reserve(index_.kmers(shard) + added.size, 0, false);
    std::size_t next = 0;
    const auto added_to = [&](Key last) {
      const std::size_t first = next;
      const Key* const end = added.hashes + added.size;
      next = static_cast<std::size_t>(std::upper_bound(added.hashes + first, end, last) - added.hashes);
      return SortedList<Key>{added.hashes + first, added.counts + first, nullptr, next - first};
    };
    merge_parts(worker, shard, added.size, added_to, [](Key) {});
  }

  /// Updates a shard for which there is too little memory: one range of hashes after the other.
  index::FrozenShard update_in_parts(MergeWorker& worker, std::uint32_t shard, const Spilled& added,
                                     const Spilled& removed) {
    SpilledEntries<Key> to_add(added), to_remove(removed);
    ShardSpill<Key> result = (added_ ? added_ : removed_)->shard_spill();
    const auto added_to = [&](Key last) {
      ListBuffer<Key>& list = worker.added;
      list.empty();
      for (SortedList<Key> some; (some = to_add.take_some(last)).size > 0; list.size += some.size) {
        list.reserve(some.size, list.size, false);
        std::copy_n(some.hashes, some.size, list.hashes() + list.size);
        std::copy_n(some.counts, some.size, list.counts() + list.size);
      }
      return list.list();
    };
    worker.result.empty();
    merge_parts(worker, shard, added ? added->entries() : 0, added_to, [&](Key last) {
      Remainder<Key> remainder(worker.result);
      for (SortedList<Key> some; (some = to_remove.take_some(last)).size > 0;)
        remainder.remove(some, worker.shortfall);
      remainder.finish();
      const std::size_t kept = note_result(worker);
      result.append(worker.result.hashes(), worker.result.counts(), kept, worker.freezer);
      worker.result.empty();
    });
    return result.finish();
  }

  /// Appends a shard of the index, merged with `added_entries` that are added, to the result, a part at a
  /// time: `added_to(last)` has those up to a hash, `use(last)` is called behind each part.
  template <class AddedTo, class Use>
  void merge_parts(MergeWorker& worker, std::uint32_t shard, std::uint64_t added_entries,
                   const AddedTo& added_to, const Use& use) {
    const std::uint32_t k = index_.params().k;
    const std::uint32_t part_bits = part_bits_of(index_.kmers(shard) + added_entries, kPartEntries, 2 * k);
    worker.of_index.open(shard, part_bits);
    for (std::uint64_t part = 0; part < worker.of_index.parts(); ++part) {
      const Key last = last_of_part<Key>(part, part_bits, k);
      worker.of_index.read(0, part, worker.part);
      const SortedList<Key> added = added_to(last);
      worker.result.reserve(worker.part.size + added.size, worker.result.size, false);
      AddCounts add;  // no sum is larger than 2^64 - 1 (jobs/update_job)
      worker.result.size += merge<kUnion>(worker.part.list(), added, worker.result.target(), add);
      use(last);
    }
    worker.of_index.close();
  }

  /// Takes note of what the result has, and returns its number.
  static std::size_t note_result(MergeWorker& worker) {
    return worker.tally.filter(worker.result.hashes(), worker.result.counts(), worker.result.size);
  }

  const index::IndexFile& index_;
  const std::uint64_t most_entries_;  ///< entries of a shard that a thread has in memory, at most
  std::unique_ptr<Session> added_, removed_;
  std::deque<MergeWorker> workers_;
  std::atomic<std::uint32_t> next_shard_{0};
};

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::backend {

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
                                  [&]<class Key>(Key) { return cpu::bytes_for<Key>(cpu::kPartEntries); })};
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

}  // namespace warpmer::backend
