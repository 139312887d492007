// Shards counted from super-k-mers, made of sorted keys, and merged from parts: always the same bits.

#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/flanked_cut.h"
#include "doctest/doctest.h"
#include "groups/group_key.h"
#include "groups/word_counter.h"
#include "unit/groups/random_sequences.h"

using namespace warpmer;
using namespace warpmer::groups;
using namespace warpmer::tests;
using bench::CutSuperKmer;
using bench::FlankedCut;

namespace {

bool are_equal(const EncodedShard& a, const EncodedShard& b) {
  return a.sizes.kmers == b.sizes.kmers && a.sizes.groups == b.sizes.groups &&
         a.sizes.buckets == b.sizes.buckets && a.sizes.large_groups == b.sizes.large_groups &&
         a.sizes.offset_bits == b.sizes.offset_bits && a.payload == b.payload;
}

/// Keeps some counts, and has seen all.
struct KeepRange {
  std::uint64_t least, most;
  std::map<std::uint64_t, std::uint64_t> histogram = {};

  void note(std::uint64_t count, std::uint64_t kmers) { histogram[count] += kmers; }
  void note(const std::uint64_t* counts, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) ++histogram[counts[i]];
  }
  [[nodiscard]] bool keeps_all() const { return least == 1 && most == UINT64_MAX; }
  [[nodiscard]] bool keeps(std::uint64_t count) const { return least <= count && count <= most; }
};
/// Keeps none, and has seen all.
struct SeeAll : KeepRange {
  [[nodiscard]] static bool keeps_none() { return true; }
};

/// Reads, as words whatever their shard is: groups of all shards fall into one.
template <class Kmer, class Key, int Words>
void check_counting(std::uint32_t k, std::mt19937_64& random) {
  using Flanks = typename WordCounter<Words>::Flanks;
  const GroupShape shape(k);
  const GroupHash hash(shape.m);
  const GroupKeys<Key, Flanks> keys(k);
  const FlankedWordFormat<Words> format(shape);
  FlankedCut<Kmer, Flanks> cutter(k, true, format.most_bases());
  std::vector<FlankedWord<Words>> words;
  std::map<Key, std::uint64_t> content;
  for (const std::string& text : awkward_sequences(k, random)) {
    for (int copy = 0; copy < 30; ++copy) {
      std::string read = copy % 2 == 0 ? text : other_strand_of(text);
      if (copy % 3 == 0) read[random() % read.size()] = base_char(static_cast<unsigned>(random()));
      cutter.cut(codes_of(read), [&](const CutSuperKmer<Flanks>& cut) {
        const std::uint32_t rest = shape.rest_of(hash(cut.super.mmer));
        words.push_back(format.pack(rest, cut.super));
      });
      for_each_kmer<Kmer>(read, k, [&](Kmer kmer) { ++content[keys.place(kmer, true).key]; });
    }
  }
  std::vector<Key> sorted;
  std::vector<std::uint64_t> counts;
  for (const auto& [key, count] : content) {
    sorted.push_back(key);
    counts.push_back(count);
  }
  const EncodedShard expected = KeyEncoder<Key, Flanks>(k).encode(sorted, counts);
  WordCounter<Words> counter(k);
  const std::vector<FlankLengths> lengths = make_length_table(shape.flank_bases());
  for (const std::size_t parts : {1u, 2u, 5u}) {
    std::vector<EncodedShard> shards;
    std::vector<ShardBits> views;
    std::shuffle(words.begin(), words.end(), random);
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t begin = words.size() * part / parts, end = words.size() * (part + 1) / parts;
      shards.push_back(counter.count(std::span(words).subspan(begin, end - begin)));
      if (parts == 1) CHECK(are_equal(shards.back(), expected));
      shards.back().payload.resize(shards.back().payload.size() + kReadAheadWords);
    }
    views.reserve(parts);
    for (const EncodedShard& shard : shards)
      views.emplace_back(shape, shard.sizes, shard.payload.data(), lengths.data());
    // Words together with what was counted before; of all k-mers, some are kept.
    const std::size_t last = words.size() * (parts - 1) / parts;
    const std::span<const ShardBits> runs(views.data(), parts - 1);
    for (const auto& [least, most] :
         {std::pair(1u, UINT32_MAX), {2u, UINT32_MAX}, {1u, 3u}, {7u, 29u}, {90000u, 0u}}) {
      KeepRange keep{least, most == UINT32_MAX ? UINT64_MAX : most};
      counter.begin(parts);
      counter.add(words.data() + last, 1);
      counter.add(words.data() + last + 1, words.size() - last - 1);
      const EncodedShard kept = counter.count(runs, keep, std::vector<std::uint64_t>(100, ~0ull));
      std::map<std::uint64_t, std::uint64_t> histogram;
      std::vector<Key> kept_keys;
      std::vector<std::uint64_t> kept_counts;
      for (std::size_t i = 0; i < sorted.size(); ++i) {
        ++histogram[counts[i]];
        if (!keep.keeps(counts[i])) continue;
        kept_keys.push_back(sorted[i]);
        kept_counts.push_back(counts[i]);
      }
      CHECK(are_equal(kept, KeyEncoder<Key, Flanks>(k).encode(kept_keys, kept_counts)));
      CHECK(keep.histogram == histogram);
      SeeAll see{{least, keep.most}};
      counter.begin(parts);
      counter.add(words.data() + last, words.size() - last);
      const EncodedShard none = counter.count(runs, see);
      CHECK(none.sizes.kmers == 0);
      CHECK(none.payload.empty());
      CHECK(see.histogram == histogram);
    }
  }
}

}  // namespace

TEST_CASE("a shard has the same bits whether it is counted, made of keys, or merged") {
  std::mt19937_64 random(1);
  for (const std::uint32_t k : {13u, 15u, 21u, 31u, 32u}) check_counting<Key64, Key64, 2>(k, random);
  for (const std::uint32_t k : {33u, 35u}) check_counting<Key128, Key64, 2>(k, random);
  for (const std::uint32_t k : {36u, 40u, 47u}) check_counting<Key128, Key128, 2>(k, random);
  for (const std::uint32_t k : {48u, 55u, 64u}) check_counting<Key128, Key128, 4>(k, random);
}
