// The inner loops, for every instruction set this machine has, against definitions.
// ctest: one thread

#include "cpu/simd/kernels.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "cpu/count/pending_store.h"
#include "cpu/count/shard_counter.h"
#include "cpu/memory/page_pool.h"
#include "cpu/simd/flanked_cutter.h"
#include "groups/group_key.h"
#include "kmer/alphabet.h"
#include "kmer/hash.h"
#include "kmer/minimizer.h"
#include "oracle/naive_kmers.h"
#include "random_text.h"
#include "tier.h"
#include "unit/cpu/one_piece.h"
#include "unit/cpu/random_words.h"

namespace {

using namespace warpmer;
using cpu::Kernels;
using tests::batch_of;
using tests::random_text;

/// Counts a list, and gives its pages back.
template <class Counter, class Word>
void count_list(Counter& counter, cpu::PendingStore<Word>& pending, const cpu::PendingList<Word>& list) {
  counter.begin(list.words);
  cpu::ListedWords<Word>{pending.format(), list}.for_each_page(
      [&](const auto* some, std::size_t n) { counter.add(some, n); });
  counter.end();
  pending.release(list);
}

/// Counts a text in one shard per k-mer's minimizer, all the way through kernels and ShardCounter.
template <class Key, int Words>
std::map<std::string, std::uint64_t> count_text(const Kernels& kernels, const std::string& text,
                                                std::uint32_t k, bool canonical, backend::CountTable table) {
  const std::uint32_t shards = 1u << shard_bits(k);
  cpu::PagePool pool;
  using Word = groups::FlankedWord<Words>;
  cpu::PendingStore<Word> pending(pool, shards, k);
  cpu::PageStock stock(pool, 8);
  cpu::FlankedCutter<Words> cutter(kernels, k, canonical, true);
  const auto pass_on = [&] {
    for (std::size_t i = 0; i < cutter.list().size; ++i)
      pending.append(cutter.list().shards[i], &cutter.list().words[i], 1, stock);
    cutter.clear();
  };
  const io::Batch batch = batch_of(text);
  cutter.cut(batch, batch.pieces[0], 0, pass_on);
  pass_on();
  std::map<std::string, std::uint64_t> counts;
  cpu::ShardCounter<Key, Words> counter(kernels, k, table);
  const groups::GroupKeys<Key, Key> keys(k);
  bool sorted = true, once = true, as_defined = true;
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    const auto list = pending.take(shard);
    if (list.pages == 0) continue;
    count_list(counter, pending, list);
    sorted = sorted && std::is_sorted(counter.keys(), counter.keys() + counter.size());
    for (std::size_t i = 0; i < counter.size(); ++i) {
      const Key read = keys.template kmer<Key>({shard, counter.keys()[i]});
      const Key kmer = canonical ? warpmer::canonical(read, k) : read;
      std::string name(k, ' ');
      kmer_to_text(kmer, k, name.data());
      once = counts.emplace(name, counter.counts()[i]).second && once;  // in one shard only
      // A lookup goes by the definition and must come to the same shard.
      as_defined = as_defined && shard_of_kmer(kmer, k, canonical, shard_bits(k)) == shard;
    }
  }
  CHECK(sorted);
  CHECK(once);
  CHECK(as_defined);
  CHECK(pool.bytes_in_use() == stock.size() * cpu::PagePool::kPageBytes);
  return counts;
}

std::map<std::string, std::uint64_t> count_text(const Kernels& kernels, const std::string& text,
                                                std::uint32_t k, bool canonical, backend::CountTable table) {
  if (k <= kMaxNarrowK) return count_text<Key64, 2>(kernels, text, k, canonical, table);
  if (k <= groups::kMaxNarrowFlanksK) return count_text<Key128, 2>(kernels, text, k, canonical, table);
  return count_text<Key128, 4>(kernels, text, k, canonical, table);
}

}  // namespace

TEST_CASE("packing: codes and breaks of every character, at every length") {
  std::mt19937_64 random(3);
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (const Kernels* kernels : cpu::available_kernels()) {
    CAPTURE(kernels->name);
    for (std::size_t length = 0; length < 300; length += 1 + length / 70) {
      const std::string text =
          length % 3 == 0 ? random_text(random, length, all) : random_text(random, length, "ACGTacgtuUN");
      const io::Batch batch = batch_of(text);
      std::vector<std::uint64_t> packed(20), breaks(10);
      const bool any = kernels->pack(batch.text.data(), length, packed.data(), breaks.data());
      bool right = true, any_expected = false;
      for (std::size_t i = 0; i < length; ++i) {
        const bool base = char_class(text[i]) == CharClass::base;
        any_expected = any_expected || !base;
        right = right && ((breaks[i / 64] >> (i % 64) & 1) == 0) == base;
        if (base) right = right && (packed[i / 32] >> (2 * (i % 32)) & 3) == base_code(text[i]);
      }
      CHECK(right);
      CHECK(any == any_expected);
      if (length % 64 != 0) CHECK((breaks[length / 64] >> (length % 64)) == 0);
    }
  }
}

TEST_CASE("cutting and counting agree with the naive counter, for every k and instruction set") {
  std::mt19937_64 random(4);
  for (std::uint32_t k = kMaxDenseK + 1; k <= kMaxK; k += tests::by_tier(1, 3)) {
    CAPTURE(k);
    const bool canonical = k % 5 != 0;
    // Random with breaks; low complexity, whose minimizers repeat; stretches longer than one cut.
    const std::string texts[] = {
        random_text(random, 700, "ACGTACGTACGTACGTACGTN"), std::string(400, 'A'),
        random_text(random, 300, "AT") + std::string(80, 'N') + random_text(random, k, "CG"),
        k % 16 == 0 ? random_text(random, 3 * 16384, "AC") : random_text(random, 1500)};
    for (const std::string& text : texts) {
      const auto expected = k % 16 == 0 && text.size() > 10000
                                ? std::map<std::string, std::uint64_t>{}
                                : naive_kmers(text, static_cast<int>(k), canonical);
      std::map<std::string, std::uint64_t> first;
      for (const Kernels* kernels : cpu::available_kernels()) {
        CAPTURE(kernels->name);
        const auto table = k % 2 == 0 ? backend::CountTable::hashgraph : backend::CountTable::warpdrive;
        const auto counts = count_text(*kernels, text, k, canonical, table);
        if (!expected.empty()) CHECK((counts == expected));
        if (first.empty()) first = counts;
        CHECK((counts == first));
        std::uint64_t kmers = 0;
        for (const auto& [kmer, count] : counts) kmers += count;
        if (text.find('N') == std::string::npos) CHECK(kmers == text.size() - k + 1);
      }
    }
  }
}

/// Counts shards one after the other, in a list or in a table.
void count_shards(std::uint32_t k) {
  CAPTURE(k);
  std::mt19937_64 random(6);
  const tests::RandomWords<2> made(k);
  const std::uint32_t n = k - minimizer_length(k);
  const auto some_words = [&](std::size_t number) {
    std::vector<groups::FlankedWord<2>> words(number);
    for (auto& word : words) word = made.make(random, n, n);
    return words;
  };
  struct Step {
    std::size_t distinct, words;
  };
  // Nothing repeats; each word comes 300 times, more often than fits beside a key; more k-mers than are
  // listed at a time; words that repeat, twice; few again.
  const std::vector<Step> steps = {{500, 500},      {7, 2100}, {40000, 40000}, {20000, 120000},
                                   {20000, 120000}, {3, 3},    {900, 900}};
  const auto count_steps = [&](const Kernels& kernels, backend::CountTable table,
                               const std::vector<Step>& taken) {
    CAPTURE(kernels.name);
    CAPTURE(backend::name_of(table));
    cpu::PagePool pool;
    cpu::PendingStore<groups::FlankedWord<2>> pending(pool, 1, k);
    cpu::PageStock stock(pool, 8);
    cpu::ShardCounter<Key64, 2> counter(kernels, k, table);
    for (const Step& step : taken) {
      CAPTURE(step.distinct);
      std::vector<Key64> expected;
      const auto words = some_words(step.distinct);
      for (std::size_t i = 0; i < step.words; ++i) {
        const auto& word = words[i % words.size()];
        pending.append(0, &word, 1, stock);
        made.for_each_key<Key64>(word, [&](Key64 key) { expected.push_back(key); });
      }
      std::sort(expected.begin(), expected.end());
      const auto list = pending.take(0);
      count_list(counter, pending, list);
      bool same = true;
      std::size_t at = 0;
      for (std::size_t i = 0; same && i < counter.size(); ++i) {
        const std::size_t end = at + counter.counts()[i];
        same = end > at && end <= expected.size() && expected[at] == counter.keys()[i] &&
               expected[end - 1] == expected[at] && (end == expected.size() || expected[end] != expected[at]);
        at = end;
      }
      CHECK(same);
      CHECK(at == expected.size());
    }
  };
  for (const Kernels* kernels : cpu::available_kernels()) {
    count_steps(*kernels, backend::CountTable::hashgraph, steps);
    count_steps(*kernels, backend::CountTable::warpdrive, steps);
  }
  for (const auto table : std::span(backend::kCountTables).subspan(1))
    count_steps(cpu::best_kernels(), table, {steps[1], steps[2], steps[5]});
}

TEST_CASE("shards one after the other, in a list or in a table") {
  count_shards(32);  // leaves the least room for weights
  count_shards(13);  // has fewer keys than buckets that so many k-mers would get
}

namespace {

/// Compares places by `find_minimizers` with the definition: of random k-mers, and of those that repeat few
/// bases, whose minimizers stand in several places.
template <class Key, int Words>
void check_places(const Kernels& kernels, std::uint32_t k, bool canonical) {
  std::mt19937_64 random(k);
  std::vector<Key> kmers;
  for (std::uint32_t period = 1; period <= k; ++period) {
    for (unsigned i = 0; i < 5; ++i) {
      const std::string repeated = random_text(random, period);
      std::string text;
      while (text.size() < k) text += repeated;
      Key kmer = 0;
      kmer_from_text(std::string_view(text).substr(0, k), kmer);
      kmers.push_back(kmer);
    }
  }
  std::vector<groups::SmallestMmer> smallest(kmers.size());
  kernels.shard<Key, Words>().find_minimizers(kmers.data(), kmers.size(), {k, canonical}, smallest.data());
  const groups::GroupKeys<Key, Key> keys(k);
  std::size_t wrong = 0, ties = 0;
  for (std::size_t i = 0; i < kmers.size(); ++i) {
    const auto place =
        groups::place_at(kmers[i], reverse_complement(kmers[i], k), smallest[i], keys, canonical);
    const auto defined = keys.place(kmers[i], canonical);
    wrong += place.shard != defined.shard || place.key != defined.key ? 1 : 0;
    ties += smallest[i].is_one() ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(ties > 0);
  CHECK(ties < kmers.size());
}

}  // namespace

TEST_CASE("places of k-mers one by one, for every k and instruction set") {
  for (const Kernels* kernels : cpu::available_kernels()) {
    CAPTURE(kernels->name);
    for (std::uint32_t k = kMaxDenseK + 1; k <= kMaxK; ++k) {
      CAPTURE(k);
      for (const bool canonical : {true, false}) {
        if (k <= kMaxNarrowK) check_places<Key64, 2>(*kernels, k, canonical);
        check_places<Key128, 2>(*kernels, k, canonical);
      }
    }
  }
}
