// Super-k-mers in as many bytes as they need.
// ctest: one thread

#include "cpu/simd/word_format.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

#include "cpu/count/pending_store.h"
#include "kmer/minimizer.h"

using namespace warpmer;

namespace {

/// A word of so many k-mers: random bases, or all of them the last letter's.
template <int Words>
SuperKmer<Words> make_word(std::mt19937_64& random, std::uint32_t k, std::uint32_t kmers, bool is_random) {
  SuperKmer<Words> word{};
  for (std::uint32_t base = 0; base < kmers + k - 1; ++base)
    word.word[base / 32] |= (is_random ? random() % 4 : 3) << (base % 32 * 2);
  word.word[Words - 1] |= std::uint64_t{kmers - 1} << 58;
  return word;
}

/// Writes words of all lengths one behind the other, into memory full of ones, and reads them.
template <int Words>
void check_all_lengths(std::uint32_t k) {
  CAPTURE(k);
  std::mt19937_64 random(k);
  const cpu::WordFormat<SuperKmer<Words>> format(k);
  std::vector<SuperKmer<Words>> words;
  std::ptrdiff_t bytes = 0;
  double mean = 0;
  for (std::uint32_t kmers = 1; kmers <= max_kmers_per_word<Words>(k); ++kmers) {
    for (const bool is_random : {true, false}) words.push_back(make_word<Words>(random, k, kmers, is_random));
    bytes += 2 * std::ptrdiff_t{(6 + 2 * (k - 1 + kmers) + 7) / 8};
    mean += 2 * cpu::mean_word_bytes(k, kmers);
  }
  std::shuffle(words.begin(), words.end(), random);
  std::vector<char> data((words.size() + 1) * sizeof(SuperKmer<Words>), '\xFF');
  char* end = data.data();
  for (const auto& word : words) end = format.write(word, end);
  CHECK(end - data.data() == bytes);
  CHECK(mean == doctest::Approx(static_cast<double>(bytes)).epsilon(0.02));
  const char* from = data.data();
  bool same = true;
  for (const auto& word : words) {
    SuperKmer<Words> back;
    from = format.read(from, back);
    same = same && back == word;
  }
  CHECK(same);
  CHECK(from == end);
}

/// Writes words around minimizers of all lengths one behind the other, into memory full of ones, and reads
/// them.
template <int Words>
void check_flanked_lengths(std::uint32_t k) {
  CAPTURE(k);
  using Format = groups::FlankedWordFormat<Words>;
  using Flanks = typename Format::Flanks;
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
  const auto flank = [&](std::uint32_t bases, bool is_random) {
    Flanks all = static_cast<Flanks>(~Flanks{0});
    if (is_random) all = static_cast<Flanks>(Key128{random()} << 64 | random());
    return static_cast<Flanks>(all & key_mask<Flanks>(bases));
  };
  for (std::uint32_t left = 0; left <= n; ++left) {
    for (std::uint32_t right = n - left; right <= n && left + right <= format.most_bases(); ++right) {
      for (const bool is_random : {true, false}) {
        const auto rest =
            static_cast<std::uint32_t>(is_random ? random() : ~0ull) & ((1u << shape.rest_bits()) - 1);
        words.push_back(format.pack(rest, {0, left, right, flank(left, is_random), flank(right, is_random)}));
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
    const auto a = stored_format.super_kmer(back), b = format.super_kmer(word);
    same = same && stored_format.rest(back) == format.rest(word) && a.left_bases == b.left_bases &&
           a.right_bases == b.right_bases && a.left == b.left && a.right == b.right;
  }
  CHECK(same);
  CHECK(from == end);
}

}  // namespace

TEST_CASE("word format: words around minimizers of all lengths, for every k") {
  for (std::uint32_t k = kMaxDenseK + 1; k <= groups::kMaxNarrowFlanksK; ++k) check_flanked_lengths<2>(k);
  for (std::uint32_t k = groups::kMaxNarrowFlanksK + 1; k <= kMaxK; ++k) check_flanked_lengths<4>(k);
}

TEST_CASE("word format: words of all lengths, for every k") {
  for (std::uint32_t k = kMaxDenseK + 1; k <= kMaxShortWordK; ++k) check_all_lengths<2>(k);
  for (std::uint32_t k = kMaxDenseK + 1; k <= kMaxK; ++k) check_all_lengths<4>(k);
}

TEST_CASE("pending words: lists hold what was appended, in order, on as few pages as that takes") {
  std::mt19937_64 random(1);
  for (const std::uint32_t k : {13u, 31u, 48u}) {
    CAPTURE(k);
    cpu::PagePool pool;
    cpu::PageStock stock(pool, 16);
    cpu::PendingStore<SuperKmer<2>> pending(pool, 1, k);
    std::vector<SuperKmer<2>> words;
    std::uint64_t bytes = 0, kmers = 0;
    for (std::size_t n = 1; n < 3000; n = n * 3 / 2 + 1) {
      const std::size_t before = words.size();
      for (std::size_t i = 0; i < n; ++i) {
        words.push_back(make_word<2>(
            random, k, 1 + static_cast<std::uint32_t>(random() % max_kmers_per_word<2>(k)), true));
        bytes += (6 + 2 * (k - 1 + words.back().kmers()) + 7) / 8;
        kmers += words.back().kmers();
      }
      pending.append(0, words.data() + before, n, stock);
    }
    cpu::PendingList<SuperKmer<2>> list = pending.take(0);
    CHECK(list.words == words.size());
    CHECK(list.kmers == kmers);
    CHECK(list.pages <= bytes / cpu::PendingPage<SuperKmer<2>>::kFullBytes + 1);
    std::size_t at = 0;
    const auto compare = [&](const cpu::PendingList<SuperKmer<2>>& part) {
      bool same = true;
      std::uint64_t in_part = 0;
      cpu::ListedWords<SuperKmer<2>>{pending.format(), part}.for_each_page(
          [&](const SuperKmer<2>* some, std::size_t n) {
            same = same && n <= cpu::PendingPage<SuperKmer<2>>::kCapacity && at + n <= words.size() &&
                   std::memcmp(some, words.data() + at, n * sizeof *some) == 0;
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
