// Looking super-k-mers up in the strings of shards, for every instruction set this machine has, against the
// counts that the shards were made of.
// ctest: one thread

#include "groups/string_lookup.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "cpu/simd/flanked_cutter.h"
#include "cpu/simd/kernels.h"
#include "groups/group_key.h"
#include "groups/shard_bits.h"
#include "kmer/alphabet.h"
#include "kmer/bit_stream.h"
#include "kmer/kmer.h"
#include "kmer/minimizer.h"
#include "random_text.h"
#include "tier.h"
#include "unit/cpu/one_piece.h"
#include "unit/groups/random_sequences.h"

namespace {

using namespace warpmer;
using namespace warpmer::tests;
using cpu::Kernels;

/// Shards of some k-mers with counts, as in an index.
template <class Key, class Flanks>
class Shards {
 public:
  Shards(const std::map<Key, std::uint64_t>& counts, std::uint32_t k, bool canonical)
      : lengths_(groups::make_length_table(groups::GroupShape(k).flank_bases())) {
    const groups::GroupKeys<Key, Flanks> keys(k);
    std::map<std::uint32_t, std::map<Key, std::uint64_t>> shards;
    for (const auto& [kmer, count] : counts) {
      const auto place = keys.place(kmer, canonical);
      shards[place.shard][place.key] = count;
    }
    groups::KeyEncoder<Key, Flanks> encoder(k);
    for (std::uint32_t shard = 0; shard < 1u << kShardBits; ++shard) {
      std::vector<Key> sorted;
      std::vector<std::uint64_t> values;
      for (const auto& [key, count] : shards[shard]) {
        sorted.push_back(key);
        values.push_back(count);
      }
      encoded_.push_back(encoder.encode(sorted, values));
      encoded_.back().payload.resize(encoded_.back().payload.size() + kReadAheadWords);
    }
    for (const groups::EncodedShard& shard : encoded_)
      views_.emplace_back(groups::GroupShape(k), shard.sizes, shard.payload.data(), lengths_.data());
  }

  [[nodiscard]] const groups::ShardBits* data() const { return views_.data(); }

 private:
  std::vector<groups::FlankLengths> lengths_;
  std::vector<groups::EncodedShard> encoded_;
  std::vector<groups::ShardBits> views_;
};

template <class Key, int Words>
struct Finder {
  using Flanks = typename groups::FlankedWordFormat<Words>::Flanks;
  const Kernels& kernels;
  std::uint32_t k;
  bool canonical;

  std::vector<std::uint32_t> find(const Shards<Key, Flanks>& shards, const std::string& text) const {
    bool has_large = false;
    cpu::FlankedCutter<Words> cutter(kernels, k, canonical, true);
    std::vector<std::uint32_t> counts(text.size(), UINT32_MAX);
    const auto look_up = [&] {
      const auto& list = cutter.list();
      std::vector<cpu::AskedSuperKmer<Words>> asked;
      for (std::size_t i = 0; i < list.size; ++i)
        asked.push_back({list.words[i], list.starts[i], list.shards[i], list.is_forward[i] != 0});
      std::shuffle(asked.begin(), asked.end(), std::minstd_rand(1));
      if constexpr (Words == 2) {
        has_large |= kernels.find_strings2(shards.data(), k, asked.data(), asked.size(), counts.data());
      } else {
        has_large |= kernels.find_strings4(shards.data(), k, asked.data(), asked.size(), counts.data());
      }
      cutter.clear();
    };
    const io::Batch batch = batch_of(text);
    cutter.cut(batch, batch.pieces[0], 0, look_up);
    look_up();
    CHECK(has_large == (std::find(counts.begin(), counts.end(), cpu::kLargeCount) != counts.end()));
    return counts;
  }
};

/// Looks up `texts` among the k-mers of `known`, whose i-th distinct k-mer has the count `count_of(i)`.
template <class Key, int Words, class CountOf>
void check(const std::vector<std::string>& known, const std::vector<std::string>& texts, std::uint32_t k,
           bool canonical, CountOf&& count_of) {
  std::map<Key, std::uint64_t> counts;
  const auto form = [&](Key kmer) { return canonical ? warpmer::canonical(kmer, k) : kmer; };
  for (const std::string& text : known) {
    for (const Key kmer : kmers_of<Key>(text, k)) counts[form(kmer)] = 1;
  }
  std::size_t number = 0;
  for (auto& [kmer, count] : counts) count = count_of(number++);
  const Shards<Key, typename Finder<Key, Words>::Flanks> shards(counts, k, canonical);
  for (const Kernels* kernels : cpu::available_kernels()) {
    CAPTURE(kernels->name);
    std::size_t wrong = 0;
    for (const std::string& text : texts) {
      const std::vector<std::uint32_t> got = Finder<Key, Words>{*kernels, k, canonical}.find(shards, text);
      const std::vector<Key> kmers = kmers_of<Key>(text, k);
      for (std::size_t i = 0; i < text.size(); ++i) {
        std::uint64_t expected = UINT32_MAX;  // nothing is written where no k-mer begins
        if (i < kmers.size()) {
          const auto found = counts.find(form(kmers[i]));
          expected = found == counts.end() ? 0 : std::min<std::uint64_t>(found->second, cpu::kLargeCount);
        }
        wrong += got[i] == expected ? 0 : 1;
      }
    }
    CHECK(wrong == 0);
  }
}

template <class CountOf>
void check(const std::vector<std::string>& known, const std::vector<std::string>& texts, std::uint32_t k,
           bool canonical, CountOf&& count_of) {
  if (k <= kMaxNarrowK) {
    check<Key64, 2>(known, texts, k, canonical, count_of);
  } else if (k <= groups::kMaxNarrowFlanksK) {
    check<Key128, 2>(known, texts, k, canonical, count_of);
  } else {
    check<Key128, 4>(known, texts, k, canonical, count_of);
  }
}

std::string with_errors(std::string text, std::mt19937_64& random) {
  for (std::size_t i = random() % 60; i < text.size(); i += 1 + random() % 90)
    text[i] = base_char(static_cast<unsigned>(random()));
  return text;
}

/// Returns up to `strings` sequences around each of so many stretches of bases, which are minimizers of one
/// shard, if any are.
std::vector<std::string> around_minimizers(std::uint32_t k, std::size_t minimizers, std::size_t strings,
                                           std::mt19937_64& random) {
  const groups::GroupShape shape(k);
  const groups::GroupKeys<Key128, Key128> keys(k);
  const auto shard = static_cast<std::uint32_t>(random() % (1u << kShardBits));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> by_hash;
  for (std::uint32_t rest = 0; rest < 1u << shape.rest_bits(); ++rest) {
    const std::uint32_t mmer = keys.mmer(shard, rest);
    if (canonical_mmer(mmer, shape.m) == mmer) by_hash.emplace_back(minimizer_hash(mmer), mmer);
  }
  std::sort(by_hash.begin(), by_hash.end());
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(minimizers, by_hash.size()); ++i) {
    std::string minimizer(shape.m, 'A');
    for (std::uint32_t j = 0; j < shape.m; ++j) minimizer[j] = base_char(by_hash[i].second >> 2 * j & 3);
    for (std::size_t j = minimizers == 1 ? 0 : random() % strings; j < strings; ++j) {
      texts.push_back(random_text(random, k - shape.m) + minimizer + random_text(random, k - shape.m));
    }
  }
  return texts;
}

}  // namespace

TEST_CASE("super-k-mers in strings: every k, both ways to count, counts of every size") {
  std::mt19937_64 random(21);
  for (std::uint32_t k = 13; k <= kMaxK; k += by_tier(1, 5)) {
    CAPTURE(k);
    for (const bool canonical : {true, false}) {
      CAPTURE(canonical);
      std::vector<std::string> known = awkward_sequences(k, random), texts = known;
      const std::string genome = random_text(random, 6000);
      known.push_back(genome);
      for (int i = 0; i < 60; ++i)
        known.push_back(with_errors(genome.substr(random() % 5000, 100 + random() % 200), random));
      for (int i = 0; i < 60; ++i) {
        texts.push_back(with_errors(genome.substr(random() % 5000, k + random() % 300), random));
        if (i % 2 == 0) texts.back() = other_strand_of(texts.back());
      }
      texts.push_back(random_text(random, 1000));
      texts.push_back(std::string(k, 'C'));
      check(known, texts, k, canonical, [](std::size_t) { return 1; });
      check(known, texts, k, canonical, [&](std::size_t) { return 1 + random() % 200; });
      check(known, texts, k, canonical, [&](std::size_t) {
        return 1 + (random() >> (random() % 2 == 0 ? 62 : random() % 64)) % UINT64_MAX;
      });
      for (const std::uint64_t near : {std::uint64_t{1} << 31, std::uint64_t{cpu::kLargeCount}}) {
        check(known, texts, k, canonical, [&](std::size_t) { return near - 4 + random() % 8; });
        check(known, texts, k, canonical, [&](std::size_t) { return 1 + random() % (near + 4); });
      }
    }
  }
}

TEST_CASE("super-k-mers of groups of few and of many strings, and of buckets of many groups") {
  std::mt19937_64 random(22);
  struct Size {
    std::size_t groups, strings;
  };
  for (const std::uint32_t k : {15u, 21u, 31u, 47u, 63u}) {
    for (const Size& size : {Size{1, 5}, Size{1, 20}, Size{1, 29}, Size{1, 40}, Size{1, 64}, Size{1, 70},
                             Size{1, 400}, Size{500, 1}, Size{60, 20}}) {
      CAPTURE(k);
      CAPTURE(size.groups);
      CAPTURE(size.strings);
      std::vector<std::string> known = around_minimizers(k, size.groups, size.strings, random), texts;
      for (const std::string& text : known) {
        texts.push_back(with_errors(text, random));
        texts.push_back(other_strand_of(text));
      }
      check(known, texts, k, true, [&](std::size_t) { return 1 + random() % 5 * (random() % 100); });
    }
  }
}

TEST_CASE("an empty index has no k-mer") {
  std::mt19937_64 random(23);
  for (const std::uint32_t k : {13u, 31u, 64u}) {
    check({}, {random_text(random, 300)}, k, true, [](std::size_t) { return 1; });
  }
}
