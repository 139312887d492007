// The k-mers that several indexes share, on the CPU: sums over the k-mers that two or more of them have.

#include "backend/indexes/compare_session.h"

#include <algorithm>
#include <atomic>
#include <deque>

#include "base/error.h"
#include "base/memory_text.h"
#include "cpu/sets/sample_groups.h"
#include "cpu/sets/sorted_lists.h"

namespace warpmer::cpu {

namespace {

/// One thread's part of a job.
template <class Key>
class CompareWorker {
 public:
  CompareWorker(const std::vector<index::IndexFile>& inputs, const std::vector<backend::CountBounds>& bounds,
                MemoryBudget& budget)
      : parts_(inputs, bounds),
        groups_(ShardKeys<Key>(inputs.front().params()).bits()),
        budget_(budget),
        table_(inputs.size()) {}

  void add(std::uint32_t shard) {
    parts_.open(shard);
    for (std::uint64_t part = 0; part < parts_.parts(); ++part) {
      groups_.read(parts_, part, [&](std::size_t sample, const ListBuffer<Key>& list) { add(sample, list); });
      account();
      groups_.for_each([&](const Entry* begin, const Entry* end) {
        if (end - begin > 1) add_pairs(begin, end);
      });
    }
    parts_.close();
  }

  [[nodiscard]] backend::ComparisonSums take_sums() { return std::move(table_); }

 private:
  using Entry = SampleEntry<Key>;

  void add(std::size_t sample, const ListBuffer<Key>& list) {
    account();
    backend::SampleSums& sums = table_.samples[sample];
    sums.distinct += list.size;
    for (std::size_t e = 0; e < list.size; ++e) {
      const std::uint64_t count = list.counts()[e];
      sums.kmers += count;
      sums.squares += Key128{count} * count;
    }
  }

  /// Adds the pairs of the samples that have one k-mer.
  void add_pairs(const Entry* begin, const Entry* end) {
    for (const Entry* a = begin; a < end; ++a) {
      // Pairs of a with the samples behind it are neighbours.
      backend::PairSums* const row = table_.pairs.data() + table_.pair_number(a->sample, a->sample + 1);
      for (const Entry* b = a + 1; b < end; ++b) {
        backend::PairSums& pair = row[b->sample - a->sample - 1];
        ++pair.shared;
        pair.smaller += std::min(a->count, b->count);
        pair.products += Key128{a->count} * b->count;
      }
    }
  }

  void account() { budget_.change(held_, groups_.bytes() + table_.pairs.size() * sizeof(backend::PairSums)); }

  ShardParts<Key> parts_;
  SampleGroups<Key> groups_;
  MemoryBudget& budget_;
  std::uint64_t held_ = 0;
  backend::ComparisonSums table_;
};

template <class Key>
class Comparer : public backend::CompareSession {
 public:
  Comparer(const std::vector<index::IndexFile>& inputs, const std::vector<backend::CountBounds>& bounds,
           const backend::WorkingMemory& memory)
      : bounds_(bounds),
        shards_(inputs.front().params().shards()),
        budget_(memory, memory.threads * bytes_of_thread(inputs)) {
    const std::uint64_t tables = memory.threads * table_bytes(inputs.size());
    if (tables > memory.bytes()) {
      throw ResourceError(fmt::format(
          "{} indexes make so many pairs that they take {} with {}, and -m leaves {}: {} would do; {}",
          inputs.size(), mebibytes_needed(tables), number_of_threads(memory.threads),
          mebibytes(memory.bytes()),
          mebibytes_needed(memory.cap_for(memory.threads * bytes_of_thread(inputs))),
          memory_advice(memory.threads)));
    }
    for (unsigned t = 0; t < memory.threads; ++t) workers_.emplace_back(inputs, bounds_, budget_);
  }

  void finish(unsigned thread, const std::function<void()>& shard_done) override {
    for (std::uint32_t shard; (shard = next_shard_.fetch_add(1)) < shards_; shard_done())
      workers_[thread].add(shard);
  }
  void cancel() noexcept override { next_shard_ = shards_; }

  [[nodiscard]] backend::ComparisonSums take_sums() override {
    backend::ComparisonSums all = workers_.front().take_sums();
    for (std::size_t t = 1; t < workers_.size(); ++t) all.merge(workers_[t].take_sums());
    return all;
  }

 private:
  static std::uint64_t table_bytes(std::uint64_t inputs) {
    return inputs * (inputs - 1) / 2 * sizeof(backend::PairSums);
  }
  /// Returns what a thread holds, at most.
  static std::uint64_t bytes_of_thread(const std::vector<index::IndexFile>& inputs) {
    return table_bytes(inputs.size()) +
           SampleGroups<Key>::bytes_for(most_entries_in_part(inputs, wanted_entries(inputs.size())));
  }

  const std::vector<backend::CountBounds> bounds_;
  const std::uint32_t shards_;
  MemoryBudget budget_;
  std::deque<CompareWorker<Key>> workers_;
  std::atomic<std::uint32_t> next_shard_{0};
};

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::backend {

std::unique_ptr<CompareSession> make_cpu_comparison(const std::vector<index::IndexFile>& inputs,
                                                    const std::vector<CountBounds>& bounds,
                                                    const WorkingMemory& memory) {
  if (inputs.front().params().k <= kMaxNarrowK)
    return std::make_unique<cpu::Comparer<Key64>>(inputs, bounds, memory);
  return std::make_unique<cpu::Comparer<Key128>>(inputs, bounds, memory);
}

}  // namespace warpmer::backend
