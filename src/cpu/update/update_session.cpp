// Updating an index on the CPU: a shard of the index is merged with what the two counting sessions have of
// it.

#include "backend/update_session.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backend/dense_update.h"
#include "cpu/count/dense_session.h"
#include "cpu/count/sharded_session.h"
#include "cpu/count/sorted_merge.h"
#include "cpu/sets/shard_pieces.h"
#include "cpu/sets/sorted_lists.h"
#include "groups/group_key.h"
#include "index/index_file.h"

namespace warpmer::cpu {

namespace {

/// Returns the bytes that a part of so many entries takes: three lists of what it is made of, and the result.
template <class Key>
std::uint64_t bytes_for(std::uint64_t entries) {
  return 4 * ListBuffer<Key>::bytes_for(entries, false);
}
template <class Key>
std::uint64_t most_entries(std::uint64_t bytes) {
  constexpr std::uint64_t kMany = std::uint64_t{1} << 20;
  return static_cast<std::uint64_t>(static_cast<double>(bytes) / static_cast<double>(bytes_for<Key>(kMany)) *
                                    static_cast<double>(kMany));
}
/// Fewer entries are not worth a part.
constexpr std::uint64_t kLeastEntries = 256;
/// Bytes that the strings of a result take in the making, for each of its k-mers, about.
constexpr std::uint64_t kStringBytes = 24;

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

/// k > 12: shard by shard, each merged by the thread that takes it, one range of groups after the other.
template <class Key, int Words>
class ShardedUpdate : public backend::UpdatingSession {
 public:
  ShardedUpdate(const Kernels& kernels, const backend::UpdatePlan& plan, const index::IndexFile& index)
      : index_(index),
        shape_(index.params().k),
        lengths_(groups::make_length_table(shape_.flank_bases())),
        part_entries_(
            std::clamp(most_entries<Key>(plan.merge_bytes / threads_of(plan)), kLeastEntries, kPartEntries)) {
    if (plan.added) added_ = std::make_unique<Session>(kernels, *plan.added);
    if (plan.removed) removed_ = std::make_unique<Session>(kernels, *plan.removed);
    for (unsigned t = 0; t < threads_of(plan); ++t) workers_.emplace_back(index);
  }

  [[nodiscard]] backend::CountingSession* added() override { return added_.get(); }
  [[nodiscard]] backend::CountingSession* removed() override { return removed_.get(); }

  void finish(unsigned thread, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    const std::uint32_t shards = index_.params().shards();
    for (std::uint32_t shard; (shard = next_shard_.fetch_add(1)) < shards; shard_done())
      sink(shard, update(workers_[thread], shard, thread));
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
  using Session = ShardedSession<InGroups<Words>>;
  struct MergeWorker {
    explicit MergeWorker(const index::IndexFile& index)
        : keys(index.params()), decoder(keys), encoder(index.params().k) {}

    ShardKeys<Key> keys;
    StringDecoder<Key> decoder;
    groups::KeyEncoder<Key, Key> encoder;
    ListBuffer<Key> was, added, removed, result;  ///< of a range of groups
    backend::Tally tally;
    backend::Shortfall shortfall;
  };

  static unsigned threads_of(const backend::UpdatePlan& plan) {
    return (plan.added ? plan.added : plan.removed)->threads;
  }
  [[nodiscard]] groups::ShardBits bits_of(const index::FrozenShard& shard) const {
    return {shape_, shard.sizes, shard.payload.data(), lengths_.data()};
  }

  /// Everything is added before anything is removed, so that the order of reads does not matter.
  index::FrozenShard update(MergeWorker& worker, std::uint32_t shard, unsigned thread) {
    const index::FrozenShard added = added_ ? added_->take(shard, thread) : index::FrozenShard();
    const index::FrozenShard removed = removed_ ? removed_->take(shard, thread) : index::FrozenShard();
    const groups::ShardBits was = index_.strings(shard);
    const std::uint32_t part_bits = part_bits_of(index_.kmers(shard) + added.kmers() + removed.kmers(),
                                                 part_entries_, worker.keys.most_part_bits());
    worker.encoder.begin();
    for (std::uint64_t part = 0; part < std::uint64_t{1} << part_bits; ++part) {
      unpack(worker, was, part, part_bits, worker.was);
      unpack(worker, bits_of(added), part, part_bits, worker.added);
      unpack(worker, bits_of(removed), part, part_bits, worker.removed);
      update_part(worker);
    }
    index_.release(shard);
    groups::EncodedShard encoded = worker.encoder.finish();
    return {{}, std::move(encoded.payload), {}, std::nullopt, encoded.sizes};
  }

  static void unpack(MergeWorker& worker, const groups::ShardBits& shard, std::uint64_t part,
                     std::uint32_t part_bits, ListBuffer<Key>& list) {
    list.empty();
    worker.decoder.append(shard, part, part_bits, [&](std::size_t n) { return list.extend(n); });
  }

  /// Adds what becomes of a range of groups to the result.
  void update_part(MergeWorker& worker) const {
    ListBuffer<Key>& result = worker.result;
    result.empty();
    result.reserve(worker.was.size + worker.added.size, 0, false);
    AddCounts add;
    result.size = merge<kUnion>(worker.was.list(), worker.added.list(), result.target(), add);
    // No sum is larger than 2^64 - 1 (jobs/update_job), unless totals and counts differ.
    if (add.overflow) index::refuse_damaged(index_, "its counts add up to more than it says");
    Remainder<Key> remainder(result);
    remainder.remove(worker.removed.list(), worker.shortfall);
    remainder.finish();
    const std::size_t kept = worker.tally.filter(result.hashes(), result.counts(), result.size);
    worker.encoder.add({result.hashes(), kept}, {result.counts(), kept});
  }

  const index::IndexFile& index_;
  const groups::GroupShape shape_;
  const std::vector<groups::FlankLengths> lengths_;
  const std::uint64_t part_entries_;  ///< that are merged at a time, about
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
  std::uint64_t most_kmers = 0, most_words = 0;
  for (std::uint32_t shard = 0; shard < params.shards(); ++shard) {
    most_kmers = std::max(most_kmers, index.kmers(shard));
    most_words = std::max(most_words, index.sizes(shard).words);
  }
  const std::uint64_t part =
      with_key_type(params.k, [&]<class Key>(Key) { return cpu::bytes_for<Key>(cpu::kPartEntries); });
  return {threads * most_words * sizeof(std::uint64_t), threads * (part + most_kmers * cpu::kStringBytes)};
}

std::unique_ptr<UpdatingSession> make_cpu_update(const UpdatePlan& plan, const index::IndexFile& index) {
  const cpu::Kernels& kernels = cpu::best_kernels();
  if (index.params().k <= kMaxDenseK) {
    const auto start = [&](const std::optional<CountPlan>& whole) {
      return whole ? std::make_unique<cpu::DenseSession>(kernels, *whole) : nullptr;
    };
    return std::make_unique<DenseUpdate<cpu::DenseSession>>(start(plan.added), start(plan.removed), index);
  }
  std::unique_ptr<UpdatingSession> update;
  groups::with_flanked_words(index.params().k, [&]<int Words>() {
    with_key_type(index.params().k, [&]<class Key>(Key) {
      update = std::make_unique<cpu::ShardedUpdate<Key, Words>>(kernels, plan, index);
    });
  });
  return update;
}

}  // namespace warpmer::backend
