// K-mers, hashes, minimizers, super-k-mer words: properties, for every k.
// ctest: one thread

#include "kmer/kmer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "kmer/hash.h"
#include "kmer/minimizer.h"
#include "kmer/ownership.h"
#include "kmer/super_kmer.h"
#include "random_text.h"

namespace {

using namespace warpmer;
using tests::random_text;

std::string other_strand(const std::string& text) {
  std::string result(text.rbegin(), text.rend());
  for (char& c : result) c = c == 'A' ? 'T' : c == 'C' ? 'G' : c == 'G' ? 'C' : 'A';
  return result;
}

template <class Key>
Key parse(const std::string& text) {
  Key kmer{};
  REQUIRE(kmer_from_text(text, kmer));
  return kmer;
}

template <class Key>
void check_kmers(std::uint32_t k, std::mt19937_64& random) {
  const KmerHash<Key> hash(k);
  for (int i = 0; i < 50; ++i) {
    const std::string a = random_text(random, k), b = random_text(random, k);
    const Key x = parse<Key>(a), y = parse<Key>(b);
    CHECK((a < b) == (x < y));
    CHECK(reverse_complement(x, k) == parse<Key>(other_strand(a)));
    CHECK(canonical(x, k) == parse<Key>(std::min(a, other_strand(a))));
    std::string text(k, ' ');
    kmer_to_text(x, k, text.data());
    CHECK(text == a);
    CHECK((hash(x) & ~key_mask<Key>(k)) == 0);
    CHECK(hash.inverse(hash(x)) == x);
    if (k > kMaxDenseK) {
      const std::uint32_t minimizer = minimizer_of(x, k, true);
      CHECK(minimizer == minimizer_of(reverse_complement(x, k), k, true));
      CHECK(minimizer_hash(minimizer_of_hash(minimizer)) == minimizer);
    }
  }
}

template <class Key, int Words>
void check_words(std::uint32_t k, std::mt19937_64& random) {
  for (std::uint32_t kmers = 1; kmers <= max_kmers_per_word<Words>(k); ++kmers) {
    const std::string text = random_text(random, kmers + k - 1);
    SuperKmer<Words> word{};
    for (std::size_t i = 0; i < text.size(); ++i)
      word.word[i / 32] |= std::uint64_t{base_code(text[i])} << (2 * (i % 32));
    word.word[Words - 1] |= std::uint64_t{kmers - 1} << 58;
    const SuperKmerReader<Key, Words> reader(word, k);
    CHECK(reader.kmers() == kmers);
    bool same = true;
    for (std::uint32_t i = 0; i < kmers; ++i) {
      const Key kmer = parse<Key>(text.substr(i, k));
      same = same && reader.forward(i) == kmer && reader.reverse(i) == reverse_complement(kmer, k) &&
             reader.canonical(i) == canonical(kmer, k);
    }
    CHECK(same);
  }
}

}  // namespace

TEST_CASE("the alphabet") {
  for (const char c : std::string("ACGTUacgtu")) CHECK(char_class(c) == CharClass::base);
  for (const char c : std::string("RYSWKMBDHVNXrnx-.*")) CHECK(char_class(c) == CharClass::breaks);
  for (const char c : std::string("EFIJLOPQZefijlopqz 0123 \t\n\r>@+?") + std::string(1, 0))
    CHECK(char_class(c) == CharClass::invalid);
  for (const char c : std::string("\x80\xff")) CHECK(char_class(c) == CharClass::invalid);
  CHECK(base_code('A') == 0);
  CHECK(base_code('c') == 1);
  CHECK(base_code('G') == 2);
  CHECK(base_code('t') == 3);
  CHECK(base_code('U') == 3);
  CHECK(base_code('u') == 3);
}

TEST_CASE("k-mers, hashes and minimizers, for every k") {
  std::mt19937_64 random(1);
  for (std::uint32_t k = 1; k <= kMaxK; ++k) {
    CAPTURE(k);
    with_key_type(k, [&](auto zero) { check_kmers<decltype(zero)>(k, random); });
  }
}

TEST_CASE("the hash is a bijection, exhaustively for small k") {
  for (std::uint32_t k = 1; k <= 8; ++k) {
    CAPTURE(k);
    const KmerHash<Key64> hash(k);
    std::set<Key64> seen;
    for (Key64 x = 0; x < Key64{1} << (2 * k); ++x) seen.insert(hash(x));
    CHECK(seen.size() == std::size_t{1} << (2 * k));
    CHECK(*seen.rbegin() == key_mask<Key64>(k));
  }
}

TEST_CASE("the hash spreads neighbours over its top bits") {
  // Buckets and windows are chosen by the top bits: k-mers that differ in one base, anywhere, must not
  // crowd there.
  for (const std::uint32_t k : {13u, 21u, 31u, 32u}) {
    CAPTURE(k);
    const KmerHash<Key64> hash(k);
    std::vector<int> buckets(256);
    int n = 0;
    for (std::uint32_t i = 0; i < k; ++i) {
      for (std::uint32_t j = 0; j < k; ++j) {
        for (Key64 b = 1; b < 4; ++b) {
          for (Key64 c = 0; c < 4; ++c) {
            ++buckets[hash((b << (2 * i)) ^ (c << (2 * j))) >> (2 * k - 8)];
            ++n;
          }
        }
      }
    }
    CHECK(*std::max_element(buckets.begin(), buckets.end()) < 6 * n / 256 + 20);
  }
}

TEST_CASE("super-k-mer words give back their k-mers, for every k and number") {
  std::mt19937_64 random(2);
  for (std::uint32_t k = 1; k <= kMaxNarrowK; ++k) {
    CAPTURE(k);
    check_words<Key64, 2>(k, random);
  }
  for (std::uint32_t k = kMaxNarrowK + 1; k <= kMaxShortWordK; ++k) {
    CAPTURE(k);
    check_words<Key128, 2>(k, random);
  }
  for (std::uint32_t k = kMaxNarrowK + 1; k <= kMaxK; ++k) {
    CAPTURE(k);
    check_words<Key128, 4>(k, random);
  }
}

TEST_CASE("every shard has one owner, owners' ranges are contiguous and even") {
  for (const std::uint32_t owners : {1u, 2u, 3u, 7u, 64u, 256u}) {
    CAPTURE(owners);
    std::vector<std::uint32_t> load(owners);
    std::uint32_t wrong = 0;
    for (std::uint32_t shard = 0; shard < 4096; ++shard) {
      const std::uint32_t owner = owner_of(shard, owners, 4096);
      REQUIRE(owner < owners);
      ++load[owner];
      wrong +=
          shard < first_shard_of(owner, owners, 4096) || shard >= first_shard_of(owner + 1, owners, 4096);
    }
    CHECK(wrong == 0);
    const auto [least, most] = std::minmax_element(load.begin(), load.end());
    CHECK(*most - *least <= 1);
  }
}
