// Groups into the bits of a shard and back, and super-k-mers looked up in them, beside a map of k-mers.

#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "bench/flanked_cut.h"
#include "doctest/doctest.h"
#include "groups/flanked_kmer.h"
#include "groups/quick_lookup.h"
#include "groups/shard_reader.h"
#include "groups/string_lookup.h"
#include "groups/string_walk.h"
#include "random_text.h"
#include "unit/groups/encoded_content.h"
#include "unit/groups/random_sequences.h"

using namespace warpmer;
using namespace warpmer::groups;
using namespace warpmer::tests;
using bench::CutSuperKmer;
using bench::FlankedCut;

namespace {

template <class Flanks>
Content<Flanks> decode(const Shard<Flanks>& shard) {
  Content<Flanks> content;
  GroupKmers<Flanks> kmers(shard.shape.flank_bases());
  for_each_group(shard.view(), kmers, [&](std::uint32_t rest, const GroupKmers<Flanks>& group) {
    for (std::uint32_t layer = 0; layer <= shard.shape.flank_bases(); ++layer) {
      for (std::uint32_t i = group.layer_begins()[layer]; i < group.layer_begins()[layer + 1]; ++i)
        CHECK(content.emplace(std::tuple{rest, layer, group.flanks()[i]}, group.counts()[i]).second);
    }
  });
  return content;
}

/// The numbers of super-k-mers that QuickSearch has looked up, and that it has left to find_super_kmer.
std::size_t quickly = 0, left = 0;

/// Does the same by what each worker does that takes a bucket, or a few strings of a large group.
template <class Flanks>
Content<Flanks> walk(const Shard<Flanks>& shard) {
  Content<Flanks> content;
  const ShardBits bits = shard.view();
  const auto take = [&](std::uint32_t rest, FlankLengths lengths, BitCursor bases,
                        const StringCounts& counts) {
    for_each_kmer_of_string<Flanks>(bits, lengths, bases, counts,
                                    [&](std::uint32_t layer, Flanks flanks, std::uint64_t count) {
                                      CHECK(content.emplace(std::tuple{rest, layer, flanks}, count).second);
                                    });
  };
  std::map<std::uint32_t, std::uint32_t> large;
  for (std::uint64_t bucket = 0; bucket < bits.layout.buckets; ++bucket) {
    for_each_string_of_bucket(bits, bucket, take, [&](std::uint32_t rest, std::uint32_t number) {
      CHECK(large.emplace(number, rest).second);
    });
  }
  CHECK(large.size() == shard.encoded.sizes.large_groups);
  for (const auto& [number, rest] : large) {
    const LargeGroup group(bits, bits.part(bits.layout.buckets + number));
    for (std::uint64_t mark = 0; mark < marks_of(group); ++mark) {
      for_each_string_of_mark(
          bits, group, mark,
          [&, rest = rest](FlankLengths lengths, BitCursor bases, const StringCounts& counts) {
            take(rest, lengths, bases, counts);
          });
    }
  }
  return content;
}

/// Looks a super-k-mer up, and compares with what the map says of each of its k-mers.
template <class Flanks>
void check_lookup(const Shard<Flanks>& shard, const Content<Flanks>& content, std::uint32_t rest,
                  const FlankedSuperKmer<Flanks>& query) {
  const std::uint32_t n = shard.shape.flank_bases();
  const std::uint32_t kmers = query.left_bases + query.right_bases - n + 1;
  std::vector<std::uint64_t> answers(kmers, 0);
  const std::uint32_t found = find_super_kmer(
      shard.view(), rest, query,
      [&](std::uint32_t first, std::uint32_t number, const StringCounts& counts, std::uint32_t from) {
        for (std::uint32_t i = 0; i < number; ++i) {
          CHECK(answers[first + i] == 0);
          answers[first + i] = counts[from + i];
        }
      });
  std::uint32_t there = 0;
  for (std::uint32_t i = 0; i < kmers; ++i) {
    const std::uint32_t layer = query.left_bases - i;
    const auto at = content.find({rest, layer, flanks_at(query.left, query.right, layer, n)});
    CHECK(answers[i] == (at == content.end() ? 0 : at->second));
    there += at == content.end() ? 0 : 1;
  }
  CHECK(found == there);
  std::vector<std::uint64_t> quick(kmers, 0);
  const ShardRecord record(shard.view());
  const StringLayout layout(shard.shape, shard.lengths.data());
  const std::uint32_t quickly_found =
      QuickSearch<Flanks>(layout, query)
          .run(
              record, rest, Lanes(1),
              [&](std::uint32_t first, std::uint32_t number, const StringCounts& counts, std::uint32_t from) {
                std::uint32_t next = first;
                if (counts.are_small()) {
                  counts.for_each_small(from, number, [&](std::uint32_t count) {
                    CHECK(count == counts[from + next++ - first]);
                  });
                }
                counts.for_each(from, number, [&](std::uint64_t count) { quick[first++] = count; });
              });
  if (quickly_found == QuickSearch<Flanks>::kLeft) {
    ++left;
    return;
  }
  ++quickly;
  CHECK(quick == answers);
  CHECK(quickly_found == found);
}

/// The k-mers of texts whatever their shard is: tests put all into one.
template <class Key, class Flanks>
class Trial {
 public:
  Trial(std::uint32_t k, bool canonical)
      : shape_(k), hash_(shape_.m), canonical_(canonical), cutter_(k, canonical) {}

  void add(std::string_view text, std::uint64_t times) {
    for_each_kmer<Key>(text, shape_.k, [&](Key kmer) {
      const auto place = flanked_kmer<Flanks>(kmer, shape_, canonical_);
      content_[{rest(place.mmer), place.layer, place.flanks}] += times;
    });
  }
  void check(const std::vector<std::string>& queries) {
    const Shard<Flanks> shard(shape_.k, content_);
    CHECK(shard.encoded.sizes.kmers == content_.size());
    CHECK(decode(shard) == content_);
    CHECK(walk(shard) == content_);
    for (const std::string& text : queries) {
      cutter_.cut(codes_of(text), [&](const CutSuperKmer<Flanks>& cut) {
        check_lookup(shard, content_, rest(cut.super.mmer), cut.super);
      });
    }
    for (const auto& [place, count] : content_) {
      const FlankedKmer<Flanks> kmer{0, std::get<1>(place), std::get<2>(place)};
      check_lookup(shard, content_, std::get<0>(place), super_kmer_of(kmer, shape_.flank_bases()));
    }
  }

 private:
  /// Groups of different shards may fall together; their k-mers are as good.
  [[nodiscard]] std::uint32_t rest(std::uint32_t mmer) const { return shape_.rest_of(hash_(mmer)); }

  GroupShape shape_;
  GroupHash hash_;
  bool canonical_;
  FlankedCut<Key, Flanks> cutter_;
  Content<Flanks> content_;
};

/// A text with some bases changed.
std::string with_errors(std::string text, double rate, std::mt19937_64& random) {
  for (char& c : text) {
    if (static_cast<double>(random() % 10000) < 10000 * rate) c = base_char(static_cast<unsigned>(random()));
  }
  return text;
}

/// Returns an m-mer that is the minimizer of nearly all k-mers around it: that of the smallest hash of many.
std::string common_minimizer(std::uint32_t k, std::mt19937_64& random) {
  const std::uint32_t m = GroupShape(k).m;
  std::string mmer;
  std::uint32_t best = UINT32_MAX;
  for (int i = 0; i < 300000; ++i) {
    const std::string text = random_text(random, m);
    std::uint32_t value = 0;
    for (std::size_t base = text.size(); base-- > 0;) value = value << 2 | base_code(text[base]);
    const std::uint32_t hash = minimizer_hash(canonical_mmer(value, m));
    if (hash >= best) continue;
    best = hash;
    mmer = text;
  }
  return mmer;
}

template <class Key, class Flanks>
void check_texts(std::uint32_t k, bool canonical, std::mt19937_64& random) {
  Trial<Key, Flanks> trial(k, canonical);
  std::vector<std::string> queries;
  const std::uint64_t counts[] = {1, 1, 2, 7, 1000, std::uint64_t{1} << 33, std::uint64_t{1} << 62};
  for (const std::string& text : awkward_sequences(k, random)) {
    for (int copy = 0; copy < 5; ++copy) {
      const std::string read = with_errors(text, 0.02, random);
      trial.add(read, counts[random() % std::size(counts)]);
      queries.push_back(with_errors(read, 0.02, random));
      queries.push_back(other_strand_of(queries.back()));
    }
  }
  trial.check(queries);
}

}  // namespace

TEST_CASE("a shard gives its k-mers and counts back, and answers super-k-mers") {
  std::mt19937_64 random(1);
  for (const bool canonical : {true, false}) {
    for (const std::uint32_t k : {13u, 16u, 20u, 21u, 27u, 28u, 31u, 32u})
      check_texts<Key64, Key64>(k, canonical, random);
    for (const std::uint32_t k : {33u, 39u, 47u}) check_texts<Key128, Key64>(k, canonical, random);
    for (const std::uint32_t k : {48u, 55u, 63u, 64u}) check_texts<Key128, Key128>(k, canonical, random);
  }
  CHECK(quickly > left);
}

TEST_CASE("a bucket of as many strings as are searched quickly, and of more") {
  std::mt19937_64 random(3);
  constexpr std::uint32_t kK = 31;
  const std::string mmer = common_minimizer(kK, random);
  const std::uint32_t flank = GroupShape(kK).flank_bases();
  for (const std::size_t strings : {1u, 40u, 52u, 53u, 54u, 57u, 58u, 63u, 64u, 65u, 66u}) {
    CAPTURE(strings);
    Trial<Key64, Key64> trial(kK, true);
    std::vector<std::string> queries;
    for (std::size_t i = 0; i < strings; ++i) {
      const std::string text = random_text(random, flank) + mmer + random_text(random, flank);
      trial.add(text, 1);
      if (i % 20 == 19) trial.add(text.substr(0, kK + 3), 5);  // between many whose counts are all 1
      queries.push_back(with_errors(text, 0.03, random));
    }
    const std::size_t left_before = left, quickly_before = quickly;
    trial.check(queries);
    if (strings <= kMostInlineStrings) {
      CHECK(quickly > quickly_before);
      CHECK(left == left_before);
    } else {
      CHECK(left > left_before);
    }
  }
}

TEST_CASE("a group of many strings is searched by layers") {
  std::mt19937_64 random(2);
  constexpr std::uint32_t kK = 31;
  Trial<Key64, Key64> trial(kK, true);
  const std::string mmer = common_minimizer(kK, random);
  std::vector<std::string> queries;
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random_text(random, kK) + mmer + random_text(random, kK);
    trial.add(text, 1 + random() % 3);
    if (i % 4 == 0) queries.push_back(with_errors(text, 0.03, random));
  }
  trial.check(queries);
}

TEST_CASE("a shard of no groups") {
  const Shard<Key64> shard(31, {});
  CHECK(shard.encoded.sizes.words == 0);
  CHECK(decode(shard).empty());
  CHECK(walk(shard).empty());
  check_lookup(shard, {}, 5, FlankedSuperKmer<Key64>{0, 16, 0, 0, 0});
}
