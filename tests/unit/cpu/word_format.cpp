// Super-k-mers in as many bytes as they need.
// ctest: one thread

#include "cpu/simd/word_format.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "cpu/count/pending_store.h"
#include "kmer/minimizer.h"
#include "unit/cpu/random_words.h"

using namespace warpmer;

namespace {

/// Writes words around minimizers of all lengths one behind the other, into memory full of ones, and reads
/// them.
template <int Words>
void check_flanked_lengths(std::uint32_t k) {
  CAPTURE(k);
  using Format = groups::FlankedWordFormat<Words>;
  std::mt19937_64 random(k);
  const groups::GroupShape shape(k);
  const std::uint32_t n = shape.flank_bases();
  const Format format(shape);
  const cpu::StoredFlankedFormat<Words> stored_format(shape);
  const cpu::WordFormat<groups::FlankedWord<Words>> pages(k);
  std::vector<groups::FlankedWord<Words>> words;
  std::ptrdiff_t bytes = 0;
  double mean = 0;
  const std::uint32_t head = shape.rest_bits() + 2 * groups::bits_of(n);
  const tests::RandomWords<Words> made(k);
  for (std::uint32_t left = 0; left <= n; ++left) {
    for (std::uint32_t right = n - left; right <= n && left + right <= format.most_bases(); ++right) {
      for (const bool is_random : {true, false}) {
        words.push_back(made.make(random, left, right, is_random));
        bytes += (head + 2 * (left + right) + 7) / 8;
        mean += cpu::mean_flanked_bytes(k, left + right - n + 1);
        CHECK(pages.kmers(words.back()) == left + right - n + 1);
      }
    }
  }
  std::shuffle(words.begin(), words.end(), random);
  std::vector<char> data((words.size() + 1) * sizeof words[0], '\xFF');
  char* end = data.data();
  for (const auto& word : words) end = pages.write(word, end);
  CHECK(end - data.data() == bytes);
  CHECK(mean == doctest::Approx(static_cast<double>(bytes)).epsilon(0.15));
  const char* from = data.data();
  bool same = true;
  for (const auto& word : words) {
    cpu::StoredFlankedWord<Words> back;
    from = pages.read(from, back);
    same = same && stored_format.rest(back) == format.rest(word) &&
           stored_format.super_kmer(back) == format.super_kmer(word);
  }
  CHECK(same);
  CHECK(from == end);
}

}  // namespace

TEST_CASE("word format: words around minimizers of all lengths, for every k") {
  for (std::uint32_t k = kMaxDenseK + 1; k <= groups::kMaxNarrowFlanksK; ++k) check_flanked_lengths<2>(k);
  for (std::uint32_t k = groups::kMaxNarrowFlanksK + 1; k <= kMaxK; ++k) check_flanked_lengths<4>(k);
}

TEST_CASE("pending words: lists hold what was appended, in order, on as few pages as that takes") {
  using Word = groups::FlankedWord<2>;
  std::mt19937_64 random(1);
  for (const std::uint32_t k : {13u, 31u, 47u}) {
    CAPTURE(k);
    cpu::PagePool pool;
    cpu::PageStock stock(pool, 16);
    cpu::PendingStore<Word> pending(pool, 1, k);
    const tests::RandomWords<2> made(k);
    const cpu::StoredFlankedFormat<2> stored_format{groups::GroupShape(k)};
    std::vector<Word> words;
    std::uint64_t bytes = 0, kmers = 0;
    for (std::size_t n = 1; n < 3000; n = n * 3 / 2 + 1) {
      const std::size_t before = words.size();
      for (std::size_t i = 0; i < n; ++i) {
        words.push_back(made.make(random));
        const std::uint32_t in_word = pending.format().kmers(words.back());
        bytes += (stored_format.head_bits() + 2 * (stored_format.flank_bases() - 1 + in_word) + 7) / 8;
        kmers += in_word;
      }
      pending.append(0, words.data() + before, n, stock);
    }
    cpu::PendingList<Word> list = pending.take(0);
    CHECK(list.words == words.size());
    CHECK(list.kmers == kmers);
    CHECK(list.pages <= bytes / cpu::PendingPage<Word>::kFullBytes + 1);
    std::size_t at = 0;
    const auto compare = [&](const cpu::PendingList<Word>& part) {
      bool same = true;
      std::uint64_t in_part = 0;
      cpu::ListedWords<Word>{pending.format(), part}.for_each_page(
          [&](const cpu::StoredFlankedWord<2>* some, std::size_t n) {
            same = same && n <= cpu::PendingPage<Word>::kCapacity && at + n <= words.size();
            for (std::size_t i = 0; same && i < n; ++i) {
              const auto expected = made.stored(words[at + i]);
              same = stored_format.rest(some[i]) == stored_format.rest(expected) &&
                     stored_format.super_kmer(some[i]) == stored_format.super_kmer(expected);
            }
            at += n;
            in_part += n;
          });
      CHECK(same);
      CHECK(in_part == part.words);
      pending.release(part);
    };
    compare(list.take_front(1));
    compare(list.take_front(1000));
    compare(list.take_front(words.size() + 1));
    CHECK(list.pages == 0);
    CHECK(at == words.size());
    CHECK(pool.bytes_in_use() == stock.size() * cpu::PagePool::kPageBytes);
  }
}
