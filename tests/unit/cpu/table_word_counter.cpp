// Counting words in tables makes the shards that counting them group by group makes.
// ctest: one thread

#include "cpu/count/table_word_counter.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "backend/count_table.h"
#include "cpu/simd/kernels.h"
#include "unit/cpu/random_words.h"

using namespace warpmer;

namespace {

/// Keeps counts up to a limit, and adds up what it sees.
struct UpTo {
  std::uint64_t most;
  std::uint64_t kmers = 0, occurrences = 0;

  void note(std::uint64_t count, std::uint64_t times) {
    kmers += times;
    occurrences += count * times;
  }
  void note(const std::uint64_t* counts, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) note(counts[i], 1);
  }
  [[nodiscard]] bool keeps_all() const { return most == UINT64_MAX; }
  [[nodiscard]] bool keeps(std::uint64_t count) const { return count <= most; }
};

template <class Counter, class Word>
groups::EncodedShard count(Counter& counter, const std::vector<Word>& words,
                           std::span<const groups::ShardBits> runs, UpTo& filter) {
  constexpr std::size_t kPage = 100;
  counter.begin(words.size());
  for (std::size_t i = 0; i < words.size(); i += kPage)
    counter.add(words.data() + i, std::min(kPage, words.size() - i));
  return counter.count(runs, filter);
}

/// Counts shards one after the other in both ways, each with the one before as its run.
template <class Key, int Words>
void compare(const cpu::Kernels& kernels, std::uint32_t k, backend::CountTable table) {
  CAPTURE(kernels.name);
  CAPTURE(k);
  CAPTURE(backend::name_of(table));
  std::mt19937_64 random(k);
  const tests::RandomWords<Words> words(k);
  const groups::GroupShape shape(k);
  const auto lengths = groups::make_length_table(shape.flank_bases());
  cpu::TableWordCounter<Key, Words> in_table(kernels, k, table);
  groups::WordCounter<Words, cpu::StoredFlankedFormat<Words>> in_groups(k);
  groups::EncodedShard run;
  struct Step {
    std::size_t distinct, words;
    std::uint64_t most_count;
    bool with_run;
  };
  const Step steps[] = {
      {300, 900, UINT64_MAX, false}, {0, 0, UINT64_MAX, false},    {900, 1000, UINT64_MAX, true},
      {0, 0, UINT64_MAX, true},      {7, 30000, UINT64_MAX, true}, {500, 1500, 2, false},
      {500, 1500, 2, true},          {3000, 3000, 0, true},        {40, 50, UINT64_MAX, true}};
  for (const Step& step : steps) {
    CAPTURE(step.distinct);
    CAPTURE(step.most_count);
    std::vector<groups::FlankedWord<Words>> distinct;
    // Some of few groups, which so get many strings.
    for (std::size_t i = 0; i < step.distinct; ++i) distinct.push_back(words.make(random));
    std::vector<cpu::StoredFlankedWord<Words>> all;
    for (std::size_t i = 0; i < step.words; ++i)
      all.push_back(words.stored(distinct[i < step.distinct ? i : random() % step.distinct]));
    std::vector<groups::ShardBits> runs;
    if (step.with_run && run.sizes.kmers > 0)
      runs.emplace_back(shape, run.sizes, run.payload.data(), lengths.data());
    UpTo expected_filter{step.most_count}, filter{step.most_count};
    groups::EncodedShard expected = count(in_groups, all, runs, expected_filter);
    const groups::EncodedShard counted = count(in_table, all, runs, filter);
    CHECK(counted.sizes == expected.sizes);
    CHECK((counted.payload == expected.payload));
    CHECK(filter.kmers == expected_filter.kmers);
    CHECK(filter.occurrences == expected_filter.occurrences);
    run = std::move(expected);
    if (step.words == 1000) in_table.clear();
  }
  CHECK(in_table.memory_bytes() > 0);
}

}  // namespace

TEST_CASE("counting in tables gives the shards of counting by group, with runs and filters") {
  for (const auto table : std::span(backend::kCountTables).subspan(1)) {
    compare<Key64, 2>(cpu::best_kernels(), 31, table);
    compare<Key128, 2>(cpu::best_kernels(), 40, table);
    compare<Key128, 4>(cpu::best_kernels(), 64, table);
  }
  for (const cpu::Kernels* kernels : cpu::available_kernels()) {
    for (std::uint32_t k = kMaxDenseK + 1; k <= kMaxK; ++k) {
      if (k <= kMaxNarrowK) {
        compare<Key64, 2>(*kernels, k, backend::CountTable::hashgraph);
      } else if (k <= groups::kMaxNarrowFlanksK) {
        compare<Key128, 2>(*kernels, k, backend::CountTable::hashgraph);
      } else {
        compare<Key128, 4>(*kernels, k, backend::CountTable::hashgraph);
      }
    }
  }
}
