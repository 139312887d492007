// Freezing shards and reading them back.
// ctest: one thread

#include "index/shard_codec.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

namespace {

using namespace warpmer;
using index::FrozenShard;
using index::ShardReader;
using index::ShardView;

template <class Key>
void round_trip(std::uint32_t k, std::size_t n, int count_style, std::mt19937_64& random) {
  std::map<Key, std::uint64_t> entries;
  const Key mask = key_mask<Key>(k);
  n = k < 8 ? std::min(n, std::size_t{1} << (2 * k)) : n;
  while (entries.size() < n) {
    Key key = random();
    if constexpr (sizeof(Key) == 16) key = (key << 64) | random();
    const std::uint64_t count = count_style == 0   ? 1
                                : count_style == 1 ? 1 + random() % 300
                                : count_style == 2 ? (random() % 20 == 0 ? random() | 1 : 1)
                                                   : std::uint64_t{1} << (random() % 64);
    entries.emplace(key & mask, count);
  }
  std::vector<Key> hashes;
  std::vector<std::uint64_t> counts;
  for (const auto& [hash, count] : entries) {
    hashes.push_back(hash);
    counts.push_back(count);
  }
  FrozenShard frozen = index::freeze(hashes.data(), counts.data(), n, k);
  REQUIRE(frozen.shape.entries == n);
  REQUIRE(frozen.payload.size() == index::payload_layout(frozen.shape, k).words);
  const std::size_t words = frozen.payload.size();
  frozen.payload.resize(words + 3);  // what a reader may look at behind the payload
  const ShardReader<Key> reader(ShardView{frozen.shape, frozen.payload.data(), words}, k);

  std::size_t at = 0;
  bool same = true;
  reader.for_each([&](Key hash, std::uint64_t count) {
    same = same && at < n && hash == hashes[at] && count == counts[at];
    ++at;
  });
  CHECK(same);
  CHECK(at == n);
  bool found = true, absent = true;
  for (const auto& [hash, count] : entries) {
    found = found && reader.find(hash) == count;
    const Key other = (hash + 1) & mask;
    const auto expected = entries.find(other);
    absent = absent && reader.find(other) == (expected == entries.end() ? 0 : expected->second);
  }
  CHECK(found);
  CHECK(absent);
}

}  // namespace

TEST_CASE("freeze and read back, for every k") {
  std::mt19937_64 random(7);
  for (std::uint32_t k = 1; k <= kMaxK; ++k) {
    CAPTURE(k);
    for (const std::size_t n : {0, 1, 2, 7, 8, 9, 64, 65, 1000}) {
      for (int style = 0; style < 4; ++style) {
        with_key_type(k, [&](auto key) { round_trip<decltype(key)>(k, n, style, random); });
      }
    }
  }
}

TEST_CASE("k = 31 with mostly unique k-mers takes less than 7.5 bytes per k-mer") {
  std::mt19937_64 random(1);
  const std::uint32_t k = 31;
  std::vector<Key64> hashes(24414);  // 1e8 k-mers in 4096 shards
  for (auto& hash : hashes) hash = random() & key_mask<Key64>(k);
  std::sort(hashes.begin(), hashes.end());
  std::vector<std::uint64_t> counts(hashes.size(), 1);
  for (std::size_t i = 0; i < counts.size(); i += 6) counts[i] = 50 + random() % 100;
  const FrozenShard frozen = index::freeze(hashes.data(), counts.data(), hashes.size(), k);
  CHECK(8.0 * static_cast<double>(frozen.payload.size()) / static_cast<double>(hashes.size()) < 7.5);
}

TEST_CASE("bucket_bits is the least that makes buckets of at most eight on average") {
  CHECK(index::bucket_bits_for(0, 31) == 0);
  CHECK(index::bucket_bits_for(8, 31) == 0);
  CHECK(index::bucket_bits_for(9, 31) == 1);
  CHECK(index::bucket_bits_for(16, 31) == 1);
  CHECK(index::bucket_bits_for(17, 31) == 2);
  CHECK(index::bucket_bits_for(1 << 20, 3) == 6);
}
