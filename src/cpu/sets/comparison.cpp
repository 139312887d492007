// The k-mers that several indexes share, on the CPU: sums over the k-mers that two or more of them have.

#include "backend/indexes/comparison.h"

#include <algorithm>
#include <utility>

#include "cpu/sets/sample_groups.h"
#include "cpu/sets/sorted_lists.h"

namespace warpmer::cpu {

namespace {

using backend::ComparisonSums;

template <class Key>
void add_list(std::size_t sample, const ListBuffer<Key>& list, ComparisonSums& to) {
  backend::SampleSums& sums = to.samples[sample];
  sums.distinct += list.size;
  for (std::size_t e = 0; e < list.size; ++e) {
    const std::uint64_t count = list.counts()[e];
    sums.kmers += count;
    sums.squares += Key128{count} * count;
  }
}

/// Adds the pairs of the samples that have one k-mer.
template <class Key>
void add_pairs(const SampleEntry<Key>* begin, const SampleEntry<Key>* end, ComparisonSums& to) {
  for (const SampleEntry<Key>* a = begin; a < end; ++a) {
    // Pairs of a with the samples behind it are neighbours.
    backend::PairSums* const row = to.pairs.data() + to.pair_number(a->sample, a->sample + 1);
    for (const SampleEntry<Key>* b = a + 1; b < end; ++b) {
      backend::PairSums& pair = row[b->sample - a->sample - 1];
      ++pair.shared;
      pair.smaller += std::min(a->count, b->count);
      pair.products += Key128{a->count} * b->count;
    }
  }
}

void add(const ComparisonSums& some, ComparisonSums& to) {
  for (std::size_t i = 0; i < to.samples.size(); ++i) {
    to.samples[i].distinct += some.samples[i].distinct;
    to.samples[i].kmers += some.samples[i].kmers;
    to.samples[i].squares += some.samples[i].squares;
  }
  for (std::size_t i = 0; i < to.pairs.size(); ++i) {
    to.pairs[i].shared += some.pairs[i].shared;
    to.pairs[i].smaller += some.pairs[i].smaller;
    to.pairs[i].products += some.pairs[i].products;
  }
}

template <class Key>
ComparisonSums compare(const std::vector<index::IndexFile>& inputs,
                       const std::vector<backend::CountBounds>& bounds, const backend::WorkingMemory& memory,
                       backend::JobProgress& progress) {
  MemoryBudget budget(memory,
                      memory.threads * SampleGroups<Key>::bytes_for(inputs, wanted_entries(inputs.size())));
  std::vector<ComparisonSums> sums;
  for (unsigned t = 0; t < memory.threads; ++t) sums.emplace_back(inputs.size());
  sum_up_groups<Key>(
      inputs, bounds, budget, progress, sums,
      [](ComparisonSums& to, std::size_t sample, const ListBuffer<Key>& list) { add_list(sample, list, to); },
      [](ComparisonSums& to, const SampleEntry<Key>* begin, const SampleEntry<Key>* end) {
        if (end - begin > 1) add_pairs(begin, end, to);
      });
  for (unsigned t = 1; t < memory.threads; ++t) add(sums[t], sums.front());
  return std::move(sums.front());
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
