// Set algebra on the CPU: a shard of the result is made of the same shard of every input, part by part, by
// merging sorted lists.

#include "backend/set_session.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <deque>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cpu/sets/sorted_lists.h"

namespace warpmer::cpu {

namespace {

using backend::CountRule;
using backend::SetOperation;

/// Calls `f(keep, combine)` with a merge of the plan's operation.
template <class F>
void with_count_rule(CountRule rule, F&& f) {
  switch (rule) {
    case CountRule::sum:
    case CountRule::samples:  // whose counts are all 1
      return f(AddCounts{});
    case CountRule::min:
      return f(SmallerCount{});
    case CountRule::max:
      return f(LargerCount{});
    case CountRule::first:
      return f(LeftCount{});
    case CountRule::last:
      return f(RightCount{});
    case CountRule::difference:
      return f(CountLess{});
  }
}

/// Returns the number of entries that a shard of the result has, at most.
std::uint64_t most_entries(const backend::SetPlan& plan, std::span<const index::IndexFile> inputs,
                           std::uint32_t shard) {
  if (plan.rule.operation == SetOperation::subtract || plan.rule.operation == SetOperation::intersect)
    return inputs.front().kmers(shard);
  return entries_in(inputs, shard);
}

/// One thread's part of a job.
template <class Key>
class SetWorker {
  using Buffer = ListBuffer<Key>;

 public:
  SetWorker(const Kernels& kernels, const backend::SetPlan& plan, const std::vector<index::IndexFile>& inputs,
            MemoryBudget& budget)
      : plan_(plan),
        parts_(inputs, plan.of_inputs),
        budget_(budget),
        counts_samples_(plan.rule.operation == SetOperation::unite
                            ? plan.rule.min_samples > 1
                            : plan.rule.operation == SetOperation::symmetric_difference && inputs.size() > 2),
        packer_(kernels, inputs.front().params().k),
        tally_(plan.rule.of_result) {}

  /// Returns what it holds, at most, while it makes a shard of up to `entries` of parts of up to
  /// `part_entries`.
  static std::uint64_t bytes_for(std::uint64_t entries, std::uint64_t part_entries, std::size_t inputs) {
    // A list for each depth of merges, the one that is merged into, and of `fold` three.
    const auto lists = static_cast<std::uint64_t>(std::bit_width(inputs)) + 2;
    const std::uint64_t freezer = 2 * sizeof(std::uint32_t) * std::bit_ceil(entries + 1);
    return Buffer::bytes_for(entries, false) + ShardPacker<Key>::bytes_for(entries) + freezer +
           lists * Buffer::bytes_for(part_entries + index::ShardDecoder<Key>::kSpareEntries, true);
  }
  /// Bytes that a thread may keep from shard to shard.
  static constexpr std::uint64_t kKeptBytes = std::uint64_t{8} << 20;

  /// Returns the shard of the result.
  index::FrozenShard make(std::uint32_t shard) {
    parts_.open(shard);
    result_.empty();
    for (std::uint64_t part = 0; part < parts_.parts(); ++part) {
      if (counts_samples_ || plan_.rule.operation == SetOperation::unite) {
        unite(part);
      } else {
        fold(part);
      }
    }
    parts_.close();
    const std::size_t kept = tally_.filter(result_.hashes(), result_.counts(), result_.size);
    account(ShardPacker<Key>::bytes_for(kept));
    index::FrozenShard frozen = packer_.pack(result_.hashes(), result_.counts(), kept);
    trim();
    return frozen;
  }

  [[nodiscard]] const backend::Tally& tally() const { return tally_; }

 private:
  /// A merged list, and how many merges deep.
  struct Level {
    Buffer buffer;
    std::uint32_t depth = 0;
  };

  void read(std::size_t input, std::uint64_t part, Buffer& out) {
    parts_.read(input, part, out);
    if (plan_.rule.counts == CountRule::samples) std::fill_n(out.counts(), out.size, 1);
  }

  /// Takes input after input: what is left of the first one gets less and less.
  void fold(std::uint64_t part) {
    Buffer& left = buffer(0).buffer;
    Buffer& right = buffer(1).buffer;
    Buffer& merged = buffer(2).buffer;
    read(0, part, left);
    for (std::size_t i = 1; i + 1 < parts_.inputs() && left.size > 0; ++i) {
      read(i, part, right);
      merged.empty();
      merge_into(left, right, merged, false);
      std::swap(left, merged);
    }
    // With nothing left of the first, what only the last one has still counts where either will do.
    const bool is_pair = parts_.inputs() == 2;
    if (parts_.inputs() == 1) {
      append(left);
    } else if (left.size > 0 || is_pair) {
      read(parts_.inputs() - 1, part, right);
      merge_into(left, right, result_, false);
    }
  }

  /// Lists of about the same size, as in a merge sort: equal k-mers become one as soon as they meet.
  void unite(std::uint64_t part) {
    std::size_t lists = 0;  // those waiting to be merged are buffers 0 to lists - 1
    for (std::size_t i = 0; i < parts_.inputs(); ++i) {
      Level& leaf = buffer(lists);
      leaf.depth = 0;
      read(i, part, leaf.buffer);
      if (counts_samples_) leaf.buffer.set_samples(1);
      const bool is_last = i + 1 == parts_.inputs();
      ++lists;
      while (lists > 1 && (is_last || buffer(lists - 2).depth == buffer(lists - 1).depth)) {
        if (is_last && lists == 2 && !counts_samples_) {
          merge_into(buffer(0).buffer, buffer(1).buffer, result_, false);
          return;
        }
        merge_last_two(lists--);
      }
    }
    append(buffer(0).buffer);
  }

  void merge_last_two(std::size_t lists) {
    Buffer& merged = buffer(lists).buffer;
    merged.empty();
    Level& left = buffer(lists - 2);
    merge_into(left.buffer, buffer(lists - 1).buffer, merged, counts_samples_);
    std::swap(left.buffer, merged);
    left.depth = std::max(left.depth, buffer(lists - 1).depth) + 1;
  }

  /// Appends to `out` what the operation makes of two lists.
  void merge_into(const Buffer& left, const Buffer& right, Buffer& out, bool with_samples) {
    const std::size_t most = plan_.rule.operation == SetOperation::intersect ? std::min(left.size, right.size)
                             : plan_.rule.operation == SetOperation::subtract ? left.size
                                                                              : left.size + right.size;
    out.reserve(most, out.begin + out.size, with_samples);
    account(0);
    const auto go = [&]<Keep kKeep>(auto combine) {
      out.size +=
          merge<kKeep>(left.list(with_samples), right.list(with_samples), out.target(with_samples), combine);
      if constexpr (std::is_same_v<decltype(combine), AddCounts>) check(combine);
    };
    switch (plan_.rule.operation) {
      case SetOperation::unite:
        return with_count_rule(plan_.rule.counts,
                               [&](auto combine) { go.template operator()<kUnion>(combine); });
      case SetOperation::intersect:
        return with_count_rule(plan_.rule.counts,
                               [&](auto combine) { go.template operator()<kIntersection>(combine); });
      case SetOperation::subtract:
        if (plan_.rule.counts == CountRule::difference) return go.template operator()<kLeft>(CountLess{});
        return go.template operator()<kLeftOnly>(LeftCount{});
      case SetOperation::symmetric_difference:
        // With more than two, it is known at the end only which of them have a k-mer.
        if (with_samples) return go.template operator()<kUnion>(LeftCount{});
        return go.template operator()<kEitherOnly>(LeftCount{});
    }
  }

  static void check(const AddCounts& combine) {
    if (combine.overflow)
      throw InputError("the counts of a k-mer add up to more than 2^64 - 1; use union --counts max");
  }

  /// Adds to the result what is in as many inputs as it should be.
  void append(const Buffer& list) {
    result_.reserve(list.size, result_.size, false);
    account(0);
    const MergeTarget<Key> to = result_.target();
    const bool exactly_one = plan_.rule.operation == SetOperation::symmetric_difference;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < list.size; ++i) {
      to.hashes[kept] = list.hashes()[i];
      to.counts[kept] = list.counts()[i];
      const std::uint32_t samples = counts_samples_ ? list.samples()[i] : plan_.rule.min_samples;
      kept += (exactly_one ? samples == 1 : samples >= plan_.rule.min_samples) ? 1 : 0;
    }
    result_.size += kept;
  }

  Level& buffer(std::size_t i) {
    while (buffers_.size() <= i) buffers_.emplace_back();
    return buffers_[i];
  }

  void account(std::uint64_t more) {
    std::uint64_t bytes = result_.bytes() + packer_.memory_bytes() + more;
    for (const Level& level : buffers_) bytes += level.buffer.bytes();
    budget_.change(held_, bytes);
  }

  void trim() {
    if (held_ > kKeptBytes) {
      result_.clear();
      for (Level& level : buffers_) level.buffer.clear();
      packer_.trim(kKeptBytes);
    }
    account(0);
  }

  const backend::SetPlan& plan_;
  ShardParts<Key> parts_;
  MemoryBudget& budget_;
  std::uint64_t held_ = 0;
  bool counts_samples_;
  std::deque<Level> buffers_;
  Buffer result_;
  ShardPacker<Key> packer_;
  backend::Tally tally_;
};

template <class Key>
class SetOperator : public backend::SetSession {
 public:
  SetOperator(const Kernels& kernels, const backend::SetPlan& plan,
              const std::vector<index::IndexFile>& inputs)
      : plan_(plan), shards_(inputs.front().params().shards()), budget_(plan.memory, enough(plan, inputs)) {
    for (unsigned t = 0; t < plan.memory.threads; ++t) workers_.emplace_back(kernels, plan_, inputs, budget_);
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
    const std::uint64_t part_entries = most_entries_in_part(inputs, wanted_entries(inputs.size()));
    const auto bytes_for = [&](std::uint64_t of_shard) {
      return SetWorker<Key>::bytes_for(of_shard, part_entries, inputs.size());
    };
    std::uint64_t largest = 0;
    for (unsigned t = 0; t < plan.memory.threads && t < entries.size(); ++t)
      largest += bytes_for(entries[t]) + SetWorker<Key>::kKeptBytes;
    return std::min(largest, plan.memory.threads * bytes_for(entries.front()));
  }

  const backend::SetPlan plan_;
  const std::uint32_t shards_;
  MemoryBudget budget_;
  std::deque<SetWorker<Key>> workers_;
  std::atomic<std::uint32_t> next_shard_{0};
};

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::backend {

std::unique_ptr<SetSession> make_cpu_set_session(const SetPlan& plan,
                                                 const std::vector<index::IndexFile>& inputs) {
  const cpu::Kernels& kernels = cpu::best_kernels();
  if (inputs.front().params().k <= kMaxNarrowK)
    return std::make_unique<cpu::SetOperator<Key64>>(kernels, plan, inputs);
  return std::make_unique<cpu::SetOperator<Key128>>(kernels, plan, inputs);
}

}  // namespace warpmer::backend
