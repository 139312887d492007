// Words of k-mers of one base that follow each other become one.
// ctest: one thread

#include "cpu/count/word_joiner.h"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "unit/cpu/random_words.h"

using namespace warpmer;

namespace {

/// A list of words, and the memory of it.
template <int Words>
struct Listed {
  std::vector<groups::FlankedWord<Words>> words;
  std::vector<std::uint16_t> shards;
  std::vector<std::uint32_t> starts;
  std::vector<std::uint8_t> is_forward;

  void add(const groups::FlankedWord<Words>& word, std::uint16_t shard, std::size_t times) {
    words.insert(words.end(), times, word);
    shards.insert(shards.end(), times, shard);
    starts.insert(starts.end(), times, 0);
    is_forward.insert(is_forward.end(), times, 1);
  }
  [[nodiscard]] cpu::FlankedList<Words> list() {
    return {words.data(), shards.data(), starts.data(), is_forward.data(), words.size()};
  }
};

template <int Words>
void check_joiner(std::uint32_t k) {
  CAPTURE(k);
  std::mt19937_64 random(k);
  const groups::GroupShape shape(k);
  const std::uint32_t n = shape.flank_bases();
  const groups::FlankedWordFormat<Words> format(shape);
  const groups::RepeatedKmers<typename groups::FlankedWordFormat<Words>::Flanks> repeats(n);
  const tests::RandomWords<Words> made(k);
  const std::size_t most = repeats.most_times();
  Listed<Words> all, expected;
  for (const std::size_t times :
       {std::size_t{2}, most, std::size_t{1}, 2 * most + 3, std::size_t{5}, most + 1}) {
    // Others, some of them twice, and equal ones of another shard
    const auto word = made.make(random), one_base = made.make(random, 0, n, false);
    all.add(word, 7, times % 3);
    expected.add(word, 7, times % 3);
    for (const std::uint16_t shard : {std::uint16_t{3}, std::uint16_t{4}}) {
      all.add(one_base, shard, times);
      for (std::size_t left = times; left > 0;) {
        const std::size_t part = std::min(left, most);
        expected.add(times == 1
                         ? one_base
                         : format.pack(format.rest(one_base), repeats.join(format.super_kmer(one_base),
                                                                           static_cast<std::uint32_t>(part))),
                     shard, 1);
        left -= part;
      }
    }
  }
  all.add(made.make(random, n, n / 2), 1, 1);
  expected.add(all.words.back(), 1, 1);
  cpu::FlankedList<Words> list = all.list();
  const std::size_t super_kmers = list.size;
  const cpu::WordJoiner<Words> joiner(k);
  const std::uint64_t kmers = joiner.kmers(list.words, list.size);
  CHECK(kmers > super_kmers);
  joiner.join(list);
  REQUIRE(list.size == expected.words.size());
  CHECK(std::equal(list.words, list.words + list.size, expected.words.begin()));
  CHECK(std::equal(list.shards, list.shards + list.size, expected.shards.begin()));
  CHECK(joiner.super_kmers(list.words, list.size) == super_kmers);
  CHECK(joiner.kmers(list.words, list.size) == kmers);
}

}  // namespace

TEST_CASE("word joiner: k-mers of one base that follow each other are joined, and nothing else is") {
  for (const std::uint32_t k : {15u, 19u, 20u, 27u, 28u, 31u, 47u}) check_joiner<2>(k);
  for (const std::uint32_t k : {48u, 55u, 64u}) check_joiner<4>(k);
}

TEST_CASE("word joiner: where flanks are too short for a number, all stays as it is") {
  const tests::RandomWords<2> made(14);
  std::mt19937_64 random(14);
  Listed<2> all;
  all.add(made.make(random, 0, 3, false), 1, 20);
  cpu::FlankedList<2> list = all.list();
  cpu::WordJoiner<2>(14).join(list);
  CHECK(list.size == 20);
}
