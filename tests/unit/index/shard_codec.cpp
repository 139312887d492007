// Freezing shards and reading them back.
// ctest: one thread

#include "index/shard_codec.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <vector>

namespace {

using namespace warpmer;
using index::FrozenShard;
using index::ShardReader;
using index::ShardView;

void round_trip(std::uint32_t k, std::size_t n, int count_style, std::mt19937_64& random) {
  std::map<Key64, std::uint64_t> entries;
  const Key64 mask = key_mask<Key64>(k);
  n = k < 8 ? std::min(n, std::size_t{1} << (2 * k)) : n;
  while (entries.size() < n) {
    const Key64 key = random();
    const std::uint64_t count = count_style == 0   ? 1
                                : count_style == 1 ? 1 + random() % 300
                                : count_style == 2 ? (random() % 20 == 0 ? random() | 1 : 1)
                                                   : std::uint64_t{1} << (random() % 64);
    entries.emplace(key & mask, count);
  }
  std::vector<Key64> hashes;
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
  const ShardReader reader(ShardView{frozen.shape, frozen.payload.data(), words}, k);

  for (const std::uint32_t part_bits : {0u, 1u, 3u, 7u}) {
    if (part_bits > 2 * k) continue;
    std::size_t at = 0, in_part = 0;
    bool same = true;
    for (std::uint64_t part = 0; part < std::uint64_t{1} << part_bits; ++part, in_part = 0) {
      const bool is_sound = reader.for_each_in_part(part, part_bits, [&](Key64 hash, std::uint64_t count) {
        same = same && at < n && hash == hashes[at] && count == counts[at];
        ++at;
        ++in_part;
      });
      same = same && is_sound && in_part <= reader.most_in_part(part, part_bits);
    }
    CHECK(same);
    CHECK(at == n);
  }
  bool found = true, absent = true;
  for (const auto& [hash, count] : entries) {
    found = found && reader.find(hash) == count;
    const Key64 other = (hash + 1) & mask;
    const auto expected = entries.find(other);
    absent = absent && reader.find(other) == (expected == entries.end() ? 0 : expected->second);
  }
  CHECK(found);
  CHECK(absent);
}

}  // namespace

TEST_CASE("freeze and read back, for every k") {
  std::mt19937_64 random(7);
  for (std::uint32_t k = 1; k <= kMaxDenseK; ++k) {
    CAPTURE(k);
    for (const std::size_t n : {0, 1, 2, 7, 8, 9, 64, 65, 1000}) {
      for (int style = 0; style < 4; ++style) {
        round_trip(k, n, style, random);
      }
    }
  }
}

TEST_CASE("damage that has the right checksum is told") {
  constexpr std::uint32_t kK = 11;
  const auto is_sound = [](FrozenShard frozen) {
    const std::size_t words = frozen.payload.size();
    frozen.payload.resize(words + kReadAheadWords);
    return ShardReader({frozen.shape, frozen.payload.data(), words}, kK)
        .for_each_in_part(0, 0, [](Key64 /*hash*/, std::uint64_t /*count*/) {});
  };
  const auto freeze = [](const std::vector<Key64>& hashes, const std::vector<std::uint64_t>& counts) {
    return index::freeze(hashes.data(), counts.data(), hashes.size(), kK);
  };
  std::vector<Key64> hashes(100);
  std::iota(hashes.begin(), hashes.end(), Key64{7});
  std::vector<std::uint64_t> counts(hashes.size(), 1);
  counts[5] = 1000;
  const FrozenShard sound = freeze(hashes, counts);
  REQUIRE(sound.shape.exceptions == 1);
  CHECK(is_sound(sound));
  hashes[50] = hashes[49];
  CHECK_FALSE(is_sound(freeze(hashes, counts)));  // two of one hash
  hashes[50] = hashes[40];
  CHECK_FALSE(is_sound(freeze(hashes, counts)));  // one is out of order
  const auto with_exception = [&](std::uint64_t changed_bits) {
    FrozenShard changed = sound;
    changed.payload[index::payload_layout(sound.shape, kK).exceptions_at] ^= changed_bits;
    return changed;
  };
  CHECK(is_sound(with_exception(1000 ^ 999)));
  CHECK_FALSE(is_sound(with_exception(1000)));  // its count is 0
  FrozenShard without = sound;                  // the entry does not say that its count is a large one
  const index::PayloadLayout layout = index::payload_layout(sound.shape, kK);
  const std::uint64_t at = 5 * std::uint64_t{layout.entry_bits};
  without.payload[layout.entries_at + at / 64] ^= std::uint64_t{1} << (at % 64);
  CHECK_FALSE(is_sound(without));
  for (std::uint32_t bit = 0; bit < 7; ++bit)  // it is another entry's
    CHECK_FALSE(is_sound(with_exception(std::uint64_t{1} << sound.shape.exception_bits << bit)));
}

TEST_CASE("bucket_bits is the least that makes buckets of at most eight on average") {
  CHECK(index::bucket_bits_for(0, 12) == 0);
  CHECK(index::bucket_bits_for(8, 12) == 0);
  CHECK(index::bucket_bits_for(9, 12) == 1);
  CHECK(index::bucket_bits_for(16, 12) == 1);
  CHECK(index::bucket_bits_for(17, 12) == 2);
  CHECK(index::bucket_bits_for(1 << 20, 3) == 6);
}
