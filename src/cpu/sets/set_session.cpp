// Set algebra on the CPU: a shard of the result is made of the same shard of every input, group by group, or
// of entries by merging sorted lists.

#include "backend/indexes/set_session.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cpu/sets/list_sets.h"
#include "cpu/sets/sorted_lists.h"
#include "cpu/sets/string_sets.h"
#include "groups/group_key.h"
#include "index/shard_codec.h"

namespace warpmer::cpu {

namespace {

using backend::SetOperation;

/// Returns the number of entries that a shard of the result has, at most.
std::uint64_t most_entries(const backend::SetPlan& plan, std::span<const index::IndexFile> inputs,
                           std::uint32_t shard) {
  if (plan.rule.operation == SetOperation::subtract || plan.rule.operation == SetOperation::intersect)
    return inputs.front().kmers(shard);
  return entries_in(inputs, shard);
}

/// Bytes that a thread may keep from shard to shard.
constexpr std::uint64_t kKeptBytes = std::uint64_t{8} << 20;

/// One thread's part of a job on indexes of entries.
class EntrySetWorker {
  using Lists = ListSets<Key64>;

 public:
  EntrySetWorker(const backend::SetPlan& plan, const std::vector<index::IndexFile>& inputs,
                 MemoryBudget& budget)
      : parts_(inputs, plan.of_inputs),
        budget_(budget),
        lists_(plan.rule, inputs.size(), [this] { account(0); }),
        k_(inputs.front().params().k),
        tally_(plan.rule.of_result) {}

  /// Returns what it holds, at most, while it makes a shard of up to `entries` of parts of up to
  /// `part_entries`.
  static std::uint64_t bytes_for(std::uint64_t entries, std::uint64_t part_entries, std::size_t inputs) {
    return Lists::bytes_for(entries, part_entries, inputs) + payload_bytes(entries);
  }

  /// Returns the entries of all inputs that it takes at a time, at most.
  static std::uint64_t most_part_entries(std::span<const index::IndexFile> inputs) {
    return most_entries_in_part(inputs, wanted_entries(inputs.size()));
  }

  /// Returns the shard of the result.
  index::FrozenShard make(std::uint32_t shard) {
    parts_.open(shard);
    auto& result = lists_.result();
    lists_.begin();
    for (std::uint64_t part = 0; part < parts_.parts(); ++part)
      lists_.add([&](std::size_t input, auto& out) { parts_.read(input, part, out, [] {}); });
    parts_.close();
    const std::size_t kept = tally_.filter(result.hashes(), result.counts(), result.size);
    lists_.check_sums(kept);
    account(payload_bytes(kept));
    index::FrozenShard frozen = index::freeze(result.hashes(), result.counts(), kept, k_);
    trim();
    return frozen;
  }

  [[nodiscard]] const backend::Tally& tally() const { return tally_; }

 private:
  /// Returns the bytes of a packed shard, at most.
  static std::uint64_t payload_bytes(std::uint64_t entries) {
    return entries * 2 * (sizeof(Key64) + sizeof(std::uint32_t));
  }
  void account(std::uint64_t more) { budget_.change(held_, lists_.bytes() + more); }
  void trim() {
    if (held_ > kKeptBytes) lists_.clear();
    account(0);
  }

  ShardParts<Key64> parts_;
  MemoryBudget& budget_;
  std::uint64_t held_ = 0;
  Lists lists_;
  const std::uint32_t k_;
  backend::Tally tally_;
};

template <class Worker>
class SetOperator : public backend::SetSession {
 public:
  SetOperator(const backend::SetPlan& plan, const std::vector<index::IndexFile>& inputs)
      : plan_(plan), shards_(inputs.front().params().shards()), budget_(plan.memory, enough(plan, inputs)) {
    for (unsigned t = 0; t < plan.memory.threads; ++t) workers_.emplace_back(plan_, inputs, budget_);
  }

  void finish(unsigned thread, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    for (std::uint32_t shard; (shard = next_shard_.fetch_add(1)) < shards_; shard_done())
      sink(shard, workers_[thread].make(shard));
  }

  [[nodiscard]] backend::Tally tally() const override {
    backend::Tally all(plan_.rule.of_result);
    for (const auto& worker : workers_) all.merge(worker.tally());
    return all;
  }

 private:
  /// Returns what all threads hold, at most: while they make the largest shards at once, with what they have
  /// kept of others.
  static std::uint64_t enough(const backend::SetPlan& plan, const std::vector<index::IndexFile>& inputs) {
    std::vector<std::uint64_t> entries(inputs.front().params().shards());
    for (std::uint32_t shard = 0; shard < entries.size(); ++shard)
      entries[shard] = most_entries(plan, inputs, shard);
    std::ranges::sort(entries, std::greater());
    const std::uint64_t part_entries = Worker::most_part_entries(inputs);
    const auto bytes_for = [&](std::uint64_t of_shard) {
      return Worker::bytes_for(of_shard, part_entries, inputs.size());
    };
    std::uint64_t largest = 0;
    for (unsigned t = 0; t < plan.memory.threads && t < entries.size(); ++t)
      largest += bytes_for(entries[t]) + kKeptBytes;
    return std::min(largest, plan.memory.threads * bytes_for(entries.front()));
  }

  const backend::SetPlan plan_;
  const std::uint32_t shards_;
  MemoryBudget budget_;
  std::deque<Worker> workers_;
  std::atomic<std::uint32_t> next_shard_{0};
};

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::backend {

std::unique_ptr<SetSession> make_cpu_set_session(const SetPlan& plan,
                                                 const std::vector<index::IndexFile>& inputs) {
  const std::uint32_t k = inputs.front().params().k;
  if (k <= kMaxDenseK) return std::make_unique<cpu::SetOperator<cpu::EntrySetWorker>>(plan, inputs);
  return groups::with_key_types(k, [&]<class Key, class Flanks>() -> std::unique_ptr<SetSession> {
    return std::make_unique<cpu::SetOperator<cpu::StringSetWorker<Key, Flanks>>>(plan, inputs);
  });
}

}  // namespace warpmer::backend
