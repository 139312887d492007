// Counted k-mers into shards: sent to the shard of their minimizer as they come, and there sorted by group.

#include "backend/import_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/dense_counts.h"
#include "base/error.h"
#include "base/memory_text.h"
#include "cpu/count/sorted_buckets.h"
#include "cpu/sets/entry_store.h"
#include "cpu/sets/sorted_lists.h"
#include "groups/group_key.h"
#include "groups/quick_place.h"

namespace warpmer::cpu {
namespace {

using backend::ImportPlan;
using formats::CountedKmer;

template <class Key>
[[noreturn]] void refuse_duplicate(const ImportPlan& plan, Key kmer) {
  std::string text(plan.k, ' ');
  kmer_to_text(kmer, plan.k, text.data());
  const std::string_view strands = plan.canonical ? ", as it is or from the other strand" : "";
  if (!plan.may_repeat) {
    throw InputError(fmt::format(
        "{}: this database is damaged: the k-mer {} comes more than once{}; copy it again, or make it "
        "again",
        plan.input, text, strands));
  }
  throw InputError(
      fmt::format("{}: the k-mer {} comes more than once{}; add its counts up with --sum-duplicates",
                  plan.input, text, strands));
}

[[noreturn]] void refuse_memory(const ImportPlan& plan, std::uint64_t needed_bytes) {
  throw ResourceError(fmt::format(
      "-m leaves {} for the k-mers of {}, and they need {}, with all else {}; raise -m",
      mebibytes(plan.memory_bytes), plan.input, mebibytes_needed(needed_bytes),
      mebibytes_needed((needed_bytes + plan.other_bytes) / (plan.writer_share - 1) * plan.writer_share)));
}

/// Checks that all counts together fit a 64-bit number.
void check_sum(const ImportPlan& plan, Key128 sum) {
  if (sum > UINT64_MAX) {
    throw InputError(
        fmt::format("{}: all counts add up to more than 2^64 - 1, which an index cannot hold", plan.input));
  }
}

/// One thread's part of a job.
template <class Key>
class ImportWorker {
 public:
  ImportWorker(const Kernels& kernels, const ImportPlan& plan, EntryStore& store)
      : plan_(plan),
        kernels_(kernels.shard<Key, 2>()),
        store_(store),
        group_keys_(plan.k),
        codec_(group_keys_.bits()),
        shard_ends_(std::size_t{1} << kShardBits),
        buckets_(kernels_, group_keys_.bits()),
        encoder_(plan.k) {}

  /// Returns the bytes of so many entries that `make` needs: bytes, keys, weights, counts, keys in buckets,
  /// and scratch memory grows by doubling; and, where each k-mer is alone in its string, that, its count, the
  /// group, and the result.
  static std::uint64_t bytes_for(std::uint64_t entries) {
    constexpr std::uint64_t kEncoded = sizeof(groups::GroupString<Key>) + 2 * (sizeof(Key) + 4) + 32;
    return (2 * (3 * sizeof(Key) + 2 + 4 + 8) + kEncoded) * entries;
  }

  /// Sends k-mers to their shards. Without room it only counts them.
  void add(std::span<const CountedKmer> kmers, bool has_room) {
    for (const CountedKmer& each : kmers) sum_ += each.count;
    entries_ += kmers.size();
    if (!has_room) return;
    stored_ += kmers.size();
    place(kmers);
    order_by_shard();
    encoded_.resize(kmers.size() * EntryCodec<Key>::kMostBytes);
    for (std::size_t i = 0; i < kmers.size();) {
      if (i + kAhead < kmers.size()) store_.prefetch(shards_[order_[i + kAhead]]);
      const std::uint16_t shard = shards_[order_[i]];
      const std::size_t first = i;
      char* end = encoded_.data();
      for (; i < kmers.size() && shards_[order_[i]] == shard; ++i)
        end = codec_.encode(keys_[order_[i]], kmers[order_[i]].count, end);
      store_.append(shard, encoded_.data(), static_cast<std::size_t>(end - encoded_.data()), i - first);
    }
  }

  /// Returns the shard, of all that has been added by any thread.
  index::FrozenShard make(std::uint32_t shard, MemoryBudget& budget) {
    const std::uint64_t entries = store_.entries(shard);
    if (entries > SortedBuckets<Key>::kMostHashes)
      throw ResourceError(fmt::format("{}: more than 2^31 of its k-mers are in one shard", plan_.input));
    budget.change(held_, bytes_for(entries));
    Carries<Key> carries;
    const HashList<Key> list = unpack(shard, carries);
    const std::size_t distinct = list.size == 0 ? 0 : buckets_.reduce(list, arrays_, carries);
    if (distinct < entries && !plan_.sum_duplicates) refuse_duplicate(plan_, duplicate(shard, entries));
    Key* const keys = arrays_.keys.data();
    std::uint64_t* const counts = arrays_.counts.data();
    for (const auto& [key, carry] : carries)
      counts[std::lower_bound(keys, keys + distinct, key) - keys] += carry;
    const std::size_t kept = tally_.filter(keys, counts, distinct);
    groups::EncodedShard encoded = encoder_.encode({keys, kept}, {counts, kept});
    index::FrozenShard frozen{{}, std::move(encoded.payload), {}, std::nullopt, encoded.sizes};
    trim();
    budget.change(held_, 0);
    return frozen;
  }

  [[nodiscard]] const backend::Tally& tally() const { return tally_; }
  [[nodiscard]] Key128 sum() const { return sum_; }
  [[nodiscard]] std::uint64_t entries() const { return entries_; }
  [[nodiscard]] std::uint64_t stored() const { return stored_; }

 private:
  static constexpr std::size_t kAhead = 64;
  static constexpr std::uint64_t kKeptBytes = std::uint64_t{8} << 20;

  /// Finds the shards of k-mers, and their keys there.
  void place(std::span<const CountedKmer> kmers) {
    keys_.resize(kmers.size());
    shards_.resize(kmers.size());
    minimizers_.resize(kmers.size());
    for (std::size_t i = 0; i < kmers.size(); ++i) keys_[i] = static_cast<Key>(kmers[i].kmer);
    kernels_.find_minimizers(keys_.data(), keys_.size(), {plan_.k, plan_.canonical}, minimizers_.data());
    for (std::size_t i = 0; i < kmers.size(); ++i) {
      const auto place = groups::place_at(keys_[i], reverse_complement(keys_[i], plan_.k), minimizers_[i],
                                          group_keys_, plan_.canonical);
      keys_[i] = place.key;
      shards_[i] = static_cast<std::uint16_t>(place.shard);
    }
  }

  /// Fills `order_` with the numbers of k-mers, shard by shard.
  void order_by_shard() {
    const std::size_t n = keys_.size();
    order_.resize(n);
    std::fill(shard_ends_.begin(), shard_ends_.end(), 0);
    for (const std::uint16_t shard : shards_) ++shard_ends_[shard];
    std::uint32_t begin = 0;
    for (std::uint32_t& end : shard_ends_) begin += std::exchange(end, begin);
    for (std::size_t i = 0; i < n; ++i) order_[shard_ends_[shards_[i]]++] = static_cast<std::uint32_t>(i);
  }

  /// Lists a shard's keys with their counts, of which `carries` gets what a weight cannot hold.
  HashList<Key> unpack(std::uint32_t shard, Carries<Key>& carries) {
    const std::size_t n = store_.take(shard, bytes_, EntryCodec<Key>::kMostBytes);
    HashList<Key> list{arrays_.keys.get(n + 8), arrays_.weights.get(n + 8), n, 0};
    const char* at = bytes_.data();
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t count = 0;
      at = codec_.decode(at, list.keys[i], count);
      const auto weight = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX));
      if (count > weight) carries[list.keys[i]] += count - weight;
      list.weights[i] = weight;
      list.weights_or |= weight;
    }
    return list;
  }

  /// Returns a k-mer that comes twice in the shard unpacked last.
  Key duplicate(std::uint32_t shard, std::size_t entries) {
    std::vector<Key> keys(entries);
    const char* at = bytes_.data();
    std::uint64_t count = 0;
    for (Key& key : keys) at = codec_.decode(at, key, count);
    std::sort(keys.begin(), keys.end());
    const Key kmer = group_keys_.template kmer<Key>({shard, *std::adjacent_find(keys.begin(), keys.end())});
    return plan_.canonical ? canonical(kmer, plan_.k) : kmer;
  }

  /// Gives back what an unusually large shard needed.
  void trim() {
    if (held_ <= kKeptBytes) return;
    bytes_.clear();
    arrays_.keys.clear();
    arrays_.weights.clear();
    arrays_.counts.clear();
    buckets_.clear();
    encoder_.clear();
  }

  const ImportPlan& plan_;
  const ShardKernels<Key, 2>& kernels_;
  EntryStore& store_;
  groups::GroupKeys<Key, Key> group_keys_;
  EntryCodec<Key> codec_;
  Key128 sum_ = 0;  ///< sum of all counts
  std::uint64_t entries_ = 0, stored_ = 0;
  // K-mers that are being added.
  std::vector<Key> keys_;
  std::vector<std::uint16_t> shards_;
  std::vector<groups::SmallestMmer> minimizers_;
  std::vector<std::uint32_t> order_, shard_ends_;
  std::vector<char> encoded_;
  // The shard that is being made.
  std::uint64_t held_ = 0;
  Scratch<char> bytes_;
  ShardArrays<Key> arrays_;
  SortedBuckets<Key> buckets_;
  groups::KeyEncoder<Key, Key> encoder_;
  backend::Tally tally_;
};

template <class Key>
class ShardedImport final : public backend::ImportSession {
 public:
  ShardedImport(const Kernels& kernels, const ImportPlan& plan)
      : plan_(plan), room_(plan.memory_bytes - plan.memory_bytes / 8), store_(1u << kShardBits) {
    const std::uint64_t least =
        EntryCodec<Key>(groups::GroupKeys<Key, Key>(plan.k).bits()).least_bytes() * plan.expected_kmers;
    if (least > room_) refuse_memory(plan_, needed_for(plan.expected_kmers, least));
    for (unsigned t = 0; t < plan.threads; ++t) workers_.emplace_back(kernels, plan_, store_);
  }

  void add(std::span<const CountedKmer> kmers, unsigned thread) override {
    workers_[thread].add(kmers, store_.bytes_in_use() <= room_);
  }

  void end_of_input() override {
    Key128 sum = 0;
    std::uint64_t entries = 0, stored = 0;
    for (const auto& worker : workers_) {
      sum += worker.sum();
      entries += worker.entries();
      stored += worker.stored();
    }
    const std::uint64_t bytes = store_.bytes_in_use();
    if (stored < entries) {
      const std::uint64_t bytes_of_all = store_.entry_bytes() / stored * entries + entries;  // rounded up
      refuse_memory(plan_, needed_for(entries, bytes_of_all));
    }
    check_sum(plan_, sum);
    const std::uint64_t cap = plan_.memory_bytes + plan_.other_bytes;
    budget_.emplace(backend::WorkingMemory{.cap = cap,
                                           .kept_bytes = bytes,
                                           .other_bytes = plan_.other_bytes - cap / plan_.writer_share,
                                           .writer_share = plan_.writer_share,
                                           .threads = plan_.threads},
                    most_in_work());
  }

  void finish(unsigned thread, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    for (std::uint32_t shard; (shard = next_shard_.fetch_add(1)) < 1u << kShardBits; shard_done())
      sink(shard, workers_[thread].make(shard, *budget_));
  }

  [[nodiscard]] backend::Tally tally() const override {
    backend::Tally all;
    for (const auto& worker : workers_) all.merge(worker.tally());
    return all;
  }

 private:
  /// Returns the bytes needed, with an eighth for the shards that are being made.
  [[nodiscard]] std::uint64_t needed_for(std::uint64_t entries, std::uint64_t bytes) const {
    const std::uint64_t pages = store_.most_bytes(entries, bytes);
    return pages + pages / 7;
  }

  /// Returns what all threads hold, at most: while they make the largest shards at once.
  [[nodiscard]] std::uint64_t most_in_work() const {
    std::vector<std::uint64_t> entries(1u << kShardBits);
    for (std::uint32_t shard = 0; shard < entries.size(); ++shard) entries[shard] = store_.entries(shard);
    std::ranges::sort(entries, std::greater());
    const std::size_t threads = std::min<std::size_t>(plan_.threads, entries.size());
    return ImportWorker<Key>::bytes_for(std::accumulate(
        entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(threads), std::uint64_t{0}));
  }

  const ImportPlan plan_;
  const std::uint64_t room_;
  EntryStore store_;
  std::deque<ImportWorker<Key>> workers_;
  std::optional<MemoryBudget> budget_;
  std::atomic<std::uint32_t> next_shard_{0};
};

/// k up to kMaxDenseK: an array of 4^k counts.
class DenseImport final : public backend::ImportSession {
 public:
  explicit DenseImport(const ImportPlan& plan) : plan_(plan) {
    const std::uint64_t needed = backend::dense_freeze_bytes(plan.k);
    if (plan.memory_bytes < needed) refuse_memory(plan_, needed);
    counts_.resize(std::size_t{1} << (2 * plan.k));
  }

  void add(std::span<const CountedKmer> kmers, unsigned /*thread*/) override {
    const std::lock_guard lock(mutex_);
    for (const CountedKmer& each : kmers) {
      const auto key = static_cast<Key64>(each.kmer);
      const Key64 kmer = plan_.canonical ? canonical(key, plan_.k) : key;
      if (counts_[kmer] != 0 && !plan_.sum_duplicates) refuse_duplicate(plan_, kmer);
      counts_[kmer] += each.count;
      sum_ += each.count;
    }
  }

  void end_of_input() override { check_sum(plan_, sum_); }

  void finish(unsigned thread, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    if (thread != 0) return;
    sink(0, backend::freeze_dense(std::move(counts_), plan_.k, false, tally_));
    shard_done();
  }

  [[nodiscard]] backend::Tally tally() const override { return tally_; }

 private:
  const ImportPlan plan_;
  std::mutex mutex_;  ///< guards what follows until the input ends
  std::vector<std::uint64_t> counts_;
  Key128 sum_ = 0;
  backend::Tally tally_;
};

}  // namespace
}  // namespace warpmer::cpu

namespace warpmer::backend {

std::unique_ptr<ImportSession> make_cpu_import_session(const ImportPlan& plan) {
  if (plan.k <= kMaxDenseK) return std::make_unique<cpu::DenseImport>(plan);
  const cpu::Kernels& kernels = cpu::best_kernels();
  if (plan.k <= kMaxNarrowK) return std::make_unique<cpu::ShardedImport<Key64>>(kernels, plan);
  return std::make_unique<cpu::ShardedImport<Key128>>(kernels, plan);
}

}  // namespace warpmer::backend
