// The k-mers that several indexes share, on the CPU: sums over the k-mers that two or more of them have.

#include "backend/indexes/comparison.h"

#include <algorithm>
#include <deque>

#include "base/thread_team.h"
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
  void add_to(backend::ComparisonSums& all) const {
    for (std::size_t i = 0; i < all.samples.size(); ++i) {
      all.samples[i].distinct += table_.samples[i].distinct;
      all.samples[i].kmers += table_.samples[i].kmers;
      all.samples[i].squares += table_.samples[i].squares;
    }
    for (std::size_t i = 0; i < all.pairs.size(); ++i) {
      all.pairs[i].shared += table_.pairs[i].shared;
      all.pairs[i].smaller += table_.pairs[i].smaller;
      all.pairs[i].products += table_.pairs[i].products;
    }
  }

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

  void account() { budget_.change(held_, groups_.bytes()); }

  ShardParts<Key> parts_;
  SampleGroups<Key> groups_;
  MemoryBudget& budget_;
  std::uint64_t held_ = 0;
  backend::ComparisonSums table_;
};

template <class Key>
backend::ComparisonSums compare(const std::vector<index::IndexFile>& inputs,
                                const std::vector<backend::CountBounds>& bounds,
                                const backend::WorkingMemory& memory, backend::JobProgress& progress) {
  const std::uint64_t entries = most_entries_in_part(inputs, wanted_entries(inputs.size()));
  MemoryBudget budget(memory, memory.threads * SampleGroups<Key>::bytes_for(entries));
  std::deque<CompareWorker<Key>> workers;
  for (unsigned t = 0; t < memory.threads; ++t) workers.emplace_back(inputs, bounds, budget);
  const std::uint32_t shards = inputs.front().params().shards();
  progress.shards_total = shards;
  progress.stage = backend::JobProgress::Stage::combining;
  share_numbers(memory.threads, 0, shards, [&](unsigned thread, SharedNumbers& numbers) {
    for (std::uint32_t shard; numbers.take(shard); ++progress.shards_done) workers[thread].add(shard);
  });
  backend::ComparisonSums all = workers.front().take_sums();
  workers.pop_front();
  for (const CompareWorker<Key>& worker : workers) worker.add_to(all);
  return all;
}

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::backend {

ComparisonSums compare_all(const std::vector<index::IndexFile>& inputs,
                           const std::vector<CountBounds>& bounds, const WorkingMemory& memory,
                           JobProgress& progress) {
  return with_key_type(inputs.front().params().k,
                       [&]<class Key>(Key) { return cpu::compare<Key>(inputs, bounds, memory, progress); });
}

}  // namespace warpmer::backend
