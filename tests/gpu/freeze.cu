// Freezing on the device: the payloads that index/shard_codec.h packs, whatever the hashes and counts.

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "gpu/device.h"
#include "gpu/on_device.cuh"
#include "kernels/freeze/freeze.cuh"

namespace {

using namespace warpmer;
using namespace warpmer::gpu;
using tests::on_device;

template <class Key>
struct Shard {
  std::vector<Key> hashes;  ///< in order
  std::vector<std::uint64_t> counts;
};

/// Shards as counting leaves them: entries in bins, a list's entries by range, in no order in a range.
template <class Key>
struct CountedShards {
  std::vector<Key> keys;
  std::vector<std::uint32_t> counts;
  std::vector<std::uint64_t> begins;
  std::vector<std::uint32_t> ranges;
  std::vector<typename BigCounts<Key>::BigCount> big;

  void add(const Shard<Key>& shard, std::uint32_t bins, std::uint32_t range_count, std::uint32_t k,
           std::mt19937_64& random) {
    std::vector<std::vector<std::size_t>> members(std::size_t{bins} * range_count);
    for (std::size_t i = 0; i < shard.hashes.size(); ++i) {
      const std::size_t range = range_of(shard.hashes[i], k, range_count);
      members[random() % bins * range_count + range].push_back(i);
    }
    for (std::uint32_t list = 0; list < bins; ++list) {
      begins.push_back(keys.size());
      for (std::uint32_t range = 0; range < range_count; ++range) {
        ranges.push_back(static_cast<std::uint32_t>(keys.size() - begins.back()));
        auto& here = members[std::size_t{list} * range_count + range];
        std::shuffle(here.begin(), here.end(), random);
        for (const std::size_t i : here) add_entry(shard.hashes[i], shard.counts[i]);
      }
      ranges.push_back(static_cast<std::uint32_t>(keys.size() - begins.back()));
    }
  }

 private:
  void add_entry(Key hash, std::uint64_t count) {
    if (count >= kBigCount) big.push_back({hash, count, static_cast<std::uint32_t>(begins.size() - 1)});
    keys.push_back(hash);
    counts.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(count, kBigCount)));
  }
};

template <class Key>
void check_freeze(const std::vector<Shard<Key>>& shards, std::uint32_t bins, std::uint32_t k,
                  std::uint32_t range_count = kLeastRanges) {
  CAPTURE(k);
  CAPTURE(range_count);
  CAPTURE(bins);
  CAPTURE(shards[0].hashes.size());
  std::mt19937_64 random(bins + k);
  CountedShards<Key> counted;
  std::vector<index::FrozenShard> expected;
  std::vector<ShardPlan> plans;
  std::uint64_t words = 0;
  for (const Shard<Key>& shard : shards) {
    counted.add(shard, bins, range_count, k, random);
    expected.push_back(index::freeze(shard.hashes.data(), shard.counts.data(), shard.hashes.size(), k));
    const auto layout = index::payload_layout(expected.back().shape, k);
    plans.push_back({expected.back().shape, layout, words});
    words += layout.words;
  }
  const Stream stream;
  const auto keys = on_device(counted.keys, stream);
  const auto counts = on_device(counted.counts, stream);
  const auto begins = on_device(counted.begins, stream);
  const auto ranges = on_device(counted.ranges, stream);
  const auto big = on_device(counted.big, stream);
  const auto big_size = on_device(std::vector{static_cast<std::uint32_t>(counted.big.size())}, stream);
  const auto device_plans = on_device(plans, stream);
  DeviceArray<unsigned long long> output(words + 1);
  fill_bytes(output.data(), 0xA5, output.size(), stream);  // every word is to be written
  DeviceArray<std::uint32_t> scratch(freeze_scratch(static_cast<std::uint32_t>(shards.size())));
  FreezeTask<Key> task{};
  task.counted = {keys.data(), counts.data(), 0,           begins.data(),
                  nullptr,     ranges.data(), range_count, {big.data(), big_size.data()}};
  task.k = k;
  task.shards = static_cast<std::uint32_t>(shards.size());
  task.bins_per_shard = bins;
  task.plans = device_plans.data();
  task.entries = counted.keys.size();
  task.output = output.data();
  task.scratch = scratch.data();
  launch_freeze(task, stream);
  std::vector<unsigned long long> frozen(words + 1);
  copy_to_host(frozen.data(), output.data(), frozen.size(), stream);
  stream.wait();
  for (std::size_t s = 0; s < shards.size(); ++s) {
    CAPTURE(s);
    CHECK(std::equal(expected[s].payload.begin(), expected[s].payload.end(),
                     frozen.begin() + static_cast<std::ptrdiff_t>(plans[s].first_word)));
  }
  CHECK(frozen.back() == 0xA5A5A5A5A5A5A5A5u);
}

/// n different hashes below 2^bits, above `low`.
template <class Key>
Shard<Key> random_shard(std::size_t n, std::uint32_t bits, unsigned seed, Key low = 0) {
  std::mt19937_64 random(seed);
  Shard<Key> shard;
  while (shard.hashes.size() < n) {
    while (shard.hashes.size() < n + n / 8 + 1) {
      Key hash = random();
      if constexpr (sizeof(Key) == 16) hash = (hash << 64) | random();
      shard.hashes.push_back(low + (bits >= kKeyBits<Key> ? hash : hash & ((Key{1} << bits) - 1)));
    }
    std::sort(shard.hashes.begin(), shard.hashes.end());
    shard.hashes.erase(std::unique(shard.hashes.begin(), shard.hashes.end()), shard.hashes.end());
  }
  // Evenly thinned out.
  std::shuffle(shard.hashes.begin(), shard.hashes.end(), random);
  shard.hashes.resize(n);
  std::sort(shard.hashes.begin(), shard.hashes.end());
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t many = random() % 100;
    shard.counts.push_back(many < 70 ? 1 : many < 99 ? 2 + random() % 20 : 1 + random() % 100000);
  }
  return shard;
}

TEST_CASE("shards of all sizes, ranges that fit a part and ranges that do not") {
  std::vector<Shard<Key64>> small;
  unsigned seed = 0;
  for (const std::size_t n : {0, 1, 2, 7, 8, 9, 100, 1000, 1023, 1024, 1025, 1500, 1600, 2048, 5000, 20000})
    small.push_back(random_shard<Key64>(n, 62, ++seed));
  for (const std::uint32_t bins : {1u, 16u, 256u}) check_freeze(small, bins, 31);
  for (const std::size_t n : {300'000, 600'000, 900'000, 2'000'000})
    check_freeze<Key64>({random_shard<Key64>(n, 62, ++seed)}, 64, 31);
  if (!tests::can_count(64)) return;
  for (const std::size_t n : {100, 1100, 50'000, 300'000, 700'000})
    check_freeze<Key128>({random_shard<Key128>(n, 110, ++seed)}, 32, 55);
}

TEST_CASE("large shards in pieces, among small ones, and ranges of any number") {
  // Half of the shards have next to nothing: most of their pieces are empty.
  std::vector<Shard<Key64>> shards;
  unsigned seed = 100;
  for (const std::size_t n : {900'000, 0, 1'000'000, 1, 9, 100, 3000})
    shards.push_back(random_shard<Key64>(n, 62, ++seed));
  // Counts that do not fit 32 bits, of pieces in the middle.
  for (const std::size_t i : {std::size_t{300'000}, std::size_t{890'000}})
    shards[0].counts[i] = UINT32_MAX + std::uint64_t{i};
  for (const std::uint32_t ranges : {256u, 288u, 448u, 1024u}) check_freeze(shards, 64, 31, ranges);
  // Buckets of the index and ranges have no ends in common, in pieces that crowd in one of them, too.
  const Key64 all = (Key64{1} << 62) - 1;
  for (const std::uint32_t ranges : {289u, 1000u}) {
    check_freeze<Key64>(
        {random_shard<Key64>(500'000, 40, ranges, all / 3), random_shard<Key64>(70'000, 62, 1)}, 256, 31,
        ranges);
    check_freeze<Key64>({random_shard<Key64>(400'000, 26, ranges)}, 16, 13, ranges);
    check_freeze<Key64>({random_shard<Key64>(400'000, 64, ranges)}, 16, 32, ranges);
    if (tests::can_count(64))
      check_freeze<Key128>({random_shard<Key128>(400'000, 128, ranges)}, 16, 64, ranges);
  }
}

TEST_CASE("entries of all widths") {
  for (const std::uint32_t k : {13u, 16u, 21u, 27u, 32u})
    check_freeze<Key64>({random_shard<Key64>(20'000, 2 * k, k), random_shard<Key64>(900, 2 * k, k)}, 16, k);
  for (const std::uint32_t k : {33u, 40u, 48u, 64u}) {
    if (!tests::can_count(k)) continue;
    check_freeze<Key128>({random_shard<Key128>(20'000, 2 * k, k), random_shard<Key128>(900, 2 * k, k)}, 16,
                         k);
  }
}

TEST_CASE("hashes that crowd") {
  // In one range, in one bucket, side by side; at the begin, the middle and the end of all hashes.
  const Key64 all = (Key64{1} << 62) - 1;
  for (const Key64 low : {Key64{0}, all / 3, all - (Key64{1} << 40) + 1})
    for (const std::uint32_t bits : {13u, 30u, 40u})
      check_freeze<Key64>({random_shard<Key64>(6000, bits, bits, low)}, 8, 31);
  Shard<Key64> both = random_shard<Key64>(3000, 62, 1);
  const Shard<Key64> crowd = random_shard<Key64>(8000, 20, 2, both.hashes[1500] + 1);
  const auto at = std::upper_bound(both.hashes.begin(), both.hashes.end(), crowd.hashes.back());
  REQUIRE(at - both.hashes.begin() == 1501);
  both.hashes.insert(at, crowd.hashes.begin(), crowd.hashes.end());
  both.counts.insert(both.counts.begin() + 1501, crowd.counts.begin(), crowd.counts.end());
  check_freeze<Key64>({both}, 8, 31);
}

template <class Key>
void crowds_in_whole_words(std::uint32_t k) {
  // Keys that use every bit: what is shifted by all of them, or counted up from the last, would show.
  const Key all = ~Key{0};
  for (const Key low : {Key{0}, all / 3, static_cast<Key>(all - (Key{1} << 40) + 1)})
    for (const std::uint32_t bits : {13u, 30u, 40u})
      check_freeze<Key>({random_shard<Key>(6000, bits, bits, low), random_shard<Key>(3000, 2 * k, bits)}, 8,
                        k);
  check_freeze<Key>({random_shard<Key>(600'000, 2 * k, k)}, 64, k);
}

TEST_CASE("hashes that crowd, of as many bits as words have") {
  crowds_in_whole_words<Key64>(32);
  if (tests::can_count(64)) crowds_in_whole_words<Key128>(64);
}

TEST_CASE("counts of any width") {
  Shard<Key64> shard = random_shard<Key64>(4000, 62, 9);
  std::fill(shard.counts.begin(), shard.counts.end(), 1);
  check_freeze<Key64>({shard}, 4, 31);
  std::fill(shard.counts.begin(), shard.counts.end(), 1000);  // no exceptions, wide codes
  check_freeze<Key64>({shard}, 4, 31);
  for (std::size_t i = 0; i < shard.counts.size(); ++i)
    shard.counts[i] = UINT32_MAX - std::uint64_t{2} + i % 5;
  check_freeze<Key64>({shard}, 4, 31);
  std::fill(shard.counts.begin(), shard.counts.end(), 1);
  shard.counts.front() = std::uint64_t{1} << 40;
  shard.counts.back() = UINT32_MAX;
  check_freeze<Key64>({shard}, 4, 31);
}

}  // namespace
