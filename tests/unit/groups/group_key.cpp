// Keys: their order, the k-mers they stand for, and shards made of them.

#include "groups/group_key.h"

#include <map>
#include <random>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "unit/groups/random_sequences.h"

using namespace warpmer;
using namespace warpmer::groups;
using namespace warpmer::tests;

namespace {

template <class Kmer, class Key, class Flanks>
void check_keys(std::uint32_t k, std::mt19937_64& random) {
  const GroupKeys<Key, Flanks> keys(k);
  CHECK(keys.bits() <= kKeyBits<Key>);
  std::map<std::uint32_t, std::map<Key, std::uint64_t>> shards;
  for (const std::string& text : awkward_sequences(k, random)) {
    for_each_kmer<Kmer>(text, k, [&](Kmer kmer) {
      const auto place = keys.place(kmer, true);
      CHECK(place.shard < 1u << kShardBits);
      CHECK(canonical(keys.template kmer<Kmer>(place), k) == canonical(kmer, k));
      CHECK(keys.pack(keys.rest(place.key), keys.layer(place.key), keys.flanks(place.key)) == place.key);
      shards[place.shard][place.key] += 1 + random() % 100;
    });
  }
  KeyEncoder<Key, Flanks> encoder(k);
  GroupKmers<Flanks> kmers(keys.shape().flank_bases());
  const std::vector<FlankLengths> lengths = make_length_table(keys.shape().flank_bases());
  for (const auto& [number, content] : shards) {
    std::vector<Key> sorted;
    std::vector<std::uint64_t> counts;
    for (const auto& [key, count] : content) {
      sorted.push_back(key);
      counts.push_back(count);
    }
    EncodedShard shard = encoder.encode(sorted, counts);
    shard.payload.resize(shard.payload.size() + kReadAheadWords);
    std::size_t i = 0;
    for_each_key(ShardBits(keys.shape(), shard.sizes, shard.payload.data(), lengths.data()), keys, kmers,
                 [&](Key key, std::uint64_t count) {
                   REQUIRE(i < sorted.size());
                   CHECK(key == sorted[i]);
                   CHECK(count == counts[i++]);
                 });
    CHECK(i == sorted.size());
  }
}

}  // namespace

TEST_CASE("keys stand for k-mers, and shards of sorted keys give them back in order") {
  std::mt19937_64 random(1);
  for (const std::uint32_t k : {13u, 16u, 21u, 31u, 32u}) check_keys<Key64, Key64, Key64>(k, random);
  for (const std::uint32_t k : {33u, 35u}) check_keys<Key128, Key64, Key64>(k, random);
  for (const std::uint32_t k : {36u, 47u}) check_keys<Key128, Key128, Key64>(k, random);
  for (const std::uint32_t k : {48u, 63u, 64u}) check_keys<Key128, Key128, Key128>(k, random);
}
