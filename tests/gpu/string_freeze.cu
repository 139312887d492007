// Freezing strings on the device: the payloads that groups/group_key.h makes, whatever the k-mers and counts.

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gpu/device.h"
#include "gpu/on_device.cuh"
#include "gpu/string_content.h"
#include "kernels/freeze/string_freeze.cuh"
#include "random_text.h"

namespace {

using namespace warpmer;
using namespace warpmer::gpu;
using namespace warpmer::tests;

/// Bins on the host, as counting leaves them.
template <class Kmer>
struct Bins {
  std::vector<Kmer> keys;
  std::vector<std::uint32_t> counts;
  std::vector<std::uint64_t> begins;
  std::vector<std::uint32_t> sizes;
  std::vector<typename BigCounts<Kmer>::BigCount> big;
};

template <class Kmer>
Bins<Kmer> bins_of(std::vector<std::vector<std::pair<Kmer, std::uint64_t>>>& entries,
                   std::mt19937_64& random) {
  Bins<Kmer> bins;
  bins.begins.resize(entries.size());
  std::vector<std::uint32_t> turns(entries.size());
  for (std::uint32_t i = 0; i < turns.size(); ++i) turns[i] = i;
  std::shuffle(turns.begin(), turns.end(), random);
  for (auto& bin : entries) bins.sizes.push_back(static_cast<std::uint32_t>(bin.size()));
  for (const std::uint32_t bin : turns) {
    bins.begins[bin] = bins.keys.size();
    std::shuffle(entries[bin].begin(), entries[bin].end(), random);
    for (const auto& [hash, count] : entries[bin]) {
      if (count >= kBigCount) bins.big.push_back({hash, count, bin});
      bins.keys.push_back(hash);
      bins.counts.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(count, kBigCount)));
    }
  }
  std::shuffle(bins.big.begin(), bins.big.end(), random);
  return bins;
}

struct Range {
  std::uint32_t first, shards;
};

/// Freezes some shards, with so many bins each, and compares with what the host makes.
template <class Kmer, class Key, class Flanks>
void check_freeze(StringFreezer<Kmer>& freezer, const CountedContent<Kmer, Key, Flanks>& content, Range range,
                  std::uint32_t bins_per_shard, bool ordered) {
  CAPTURE(content.params.k);
  CAPTURE(content.params.canonical);
  CAPTURE(range.first);
  CAPTURE(range.shards);
  CAPTURE(bins_per_shard);
  CAPTURE(ordered);
  std::mt19937_64 random(bins_per_shard + range.first);
  const std::uint32_t rest_bits = content.keys.shape().rest_bits();
  std::vector<std::vector<std::pair<Kmer, std::uint64_t>>> entries(std::size_t{range.shards} *
                                                                   bins_per_shard);
  std::vector<std::vector<Key>> keys(range.shards);
  std::vector<std::vector<std::uint64_t>> counts(range.shards);
  std::uint64_t number = 0;
  for (const auto& [place, entry] : content.shards) {
    const std::uint32_t shard = place.first - range.first;
    if (place.first < range.first || shard >= range.shards) continue;
    const std::uint64_t in_order =
        std::uint64_t{content.keys.rest(place.second)} * bins_per_shard >> rest_bits;
    entries[shard * bins_per_shard + (ordered ? in_order : random() % bins_per_shard)].push_back(
        {entry.hash, entry.count});
    keys[shard].push_back(place.second);
    counts[shard].push_back(entry.count);
    ++number;
  }
  const Bins<Kmer> bins = bins_of(entries, random);
  const Stream stream;
  const auto device_keys = on_device(bins.keys, stream);
  const auto device_counts = on_device(bins.counts, stream);
  const auto begins = on_device(bins.begins, stream);
  const auto sizes = on_device(bins.sizes, stream);
  const auto big = on_device(bins.big, stream);
  const auto big_size = on_device(std::vector{static_cast<std::uint32_t>(bins.big.size())}, stream);
  CountedShards<Kmer> shards{};
  shards.counted = {device_keys.data(), device_counts.data(), range.first * bins_per_shard,
                    begins.data(),      sizes.data(),         {big.data(), big_size.data()}};
  shards.first_shard = range.first;
  shards.shards = range.shards;
  shards.bins_per_shard = bins_per_shard;
  shards.bins_are_ordered = ordered;
  shards.entries = number;
  const std::vector<groups::ShardSizes>& measured = freezer.measure(shards, stream);
  REQUIRE(measured.size() == range.shards);
  std::uint64_t words = 0;
  for (const groups::ShardSizes& size : measured) words += size.words;
  DeviceArray<unsigned long long> output(words + 1);
  fill_bytes(output.data(), 0xA5, words + 1, stream);  // every word is to be written
  freezer.write(output.data(), stream);
  std::vector<unsigned long long> payloads(words + 1);
  copy_to_host(payloads.data(), output.data(), payloads.size(), stream);
  stream.wait();
  CHECK(payloads.back() == 0xA5A5A5A5A5A5A5A5u);
  groups::KeyEncoder<Key, Flanks> encoder(content.params.k);
  auto at = payloads.begin();
  for (std::uint32_t s = 0; s < range.shards; ++s) {
    CAPTURE(s);
    const groups::EncodedShard expected = encoder.encode(keys[s], counts[s]);
    REQUIRE(measured[s] == expected.sizes);
    const auto end = at + static_cast<std::ptrdiff_t>(measured[s].words);
    CHECK(std::equal(at, end, expected.payload.begin(), expected.payload.end()));
    at = end;
  }
}

TEST_CASE("strings of many small groups") {
  for (const std::uint32_t k : countable(kLengths)) {
    with_types(k, [&]<class Kmer, class Key, class Flanks>() {
      for (const bool canonical : {true, false}) {
        std::mt19937_64 random(k);
        CountedContent<Kmer, Key, Flanks> content(k, canonical);
        for (int round = 0; round < 30; ++round) {
          for (const std::string& text : awkward_sequences(k, random)) {
            content.add(text, random_count(random));
            content.add(text.substr(random() % k), random_count(random));
            std::string other = other_strand_of(text);
            other[random() % other.size()] = base_char(static_cast<unsigned>(random()));
            content.add(other, random_count(random));
          }
        }
        const auto freezer = make_string_freezer<Kmer>(content.params);
        check_freeze(*freezer, content, {0, 4096}, 1, true);
        check_freeze(*freezer, content, {0, 4096}, 8, true);
        check_freeze(*freezer, content, {1000, 1}, 4, true);
        check_freeze(*freezer, content, {77, 300}, 256, true);
        check_freeze(*freezer, content, {4000, 96}, 16, false);
      }
    });
  }
}

TEST_CASE("strings of large groups, and counts of all sizes") {
  for (const std::uint32_t k : countable(kLengths)) {
    with_types(k, [&]<class Kmer, class Key, class Flanks>() {
      std::mt19937_64 random(k);
      for (const bool canonical : {true, false}) {
        CountedContent<Kmer, Key, Flanks> content(k, canonical);
        for (const std::uint32_t texts : {3u, 60u, 80u, 400u, 2000u}) {
          OneMinimizer one(k, random);
          const std::uint32_t out_of = 2 + static_cast<std::uint32_t>(random() % 20);
          for (std::uint32_t i = 0; i < texts; ++i) content.add(one.changed(out_of), random_count(random));
        }
        // Among few bits of differences and among many, where 32 bits end and behind that.
        std::uint32_t big = 0;
        for (auto& [place, entry] : content.shards) {
          if (random() % 50 == 0 && ++big < 1000)
            entry.count = (std::uint64_t{UINT32_MAX} - 2 + random() % 5)
                          << (random() % 4 == 0 ? random() % 30 : 0);
        }
        const auto freezer = make_string_freezer<Kmer>(content.params);
        check_freeze(*freezer, content, {0, 4096}, 2, true);
        check_freeze(*freezer, content, {0, 4096}, 64, true);
        const std::uint32_t middle = content.shards.begin()->first.first;
        check_freeze(*freezer, content, {middle, std::min(500u, 4096 - middle)}, 32, false);
      }
    });
  }
}

TEST_CASE("several large groups in a bucket, whose counts have another order than their ids") {
  for (const std::uint32_t k : countable(kLengths)) {
    with_types(k, [&]<class Kmer, class Key, class Flanks>() {
      std::mt19937_64 random(k);
      CountedContent<Kmer, Key, Flanks> content(k, true);
      const std::uint32_t n = content.keys.shape().flank_bases();
      for (const std::uint32_t shard : {7u, 8u}) {
        std::vector<std::string> texts = texts_of_shard(k, shard, random);
        std::shuffle(texts.begin(), texts.end(), random);
        texts.resize(std::min<std::size_t>(texts.size(), shard == 7 ? 3 : 30));
        for (const std::string& text : texts) {
          for (int i = 0; i < 300; ++i) {
            std::string changed = text;
            for (std::uint32_t base = 0; base < n; ++base) {
              for (const std::size_t at : {std::size_t{base}, text.size() - 1 - base}) {
                if (random() % 4 == 0) changed[at] = base_char(static_cast<unsigned>(random()));
              }
            }
            content.add(changed, 1 + random() % 3);
          }
          content.add(text, 4 + random() % 4);  // so that some largest counts are equal
        }
      }
      const auto freezer = make_string_freezer<Kmer>(content.params);
      check_freeze(*freezer, content, {0, 4096}, 8, true);
      check_freeze(*freezer, content, {7, 2}, 1, false);
    });
  }
}

TEST_CASE("strings of many groups in few shards") {
  for (const std::uint32_t k : countable(kLengths)) {
    with_types(k, [&]<class Kmer, class Key, class Flanks>() {
      std::mt19937_64 random(k);
      for (const bool canonical : {true, false}) {
        CountedContent<Kmer, Key, Flanks> content(k, canonical);
        for (const std::uint32_t shard : {7u, 9u}) {
          for (std::string& text : texts_of_shard(k, shard, random)) {
            content.add(text, random_count(random));
            text[random() % text.size()] = base_char(static_cast<unsigned>(random()));
            content.add(text, random_count(random));
          }
        }
        const auto freezer = make_string_freezer<Kmer>(content.params);
        for (const std::uint32_t bins : {1u, 8u, 64u, 256u})
          check_freeze(*freezer, content, {7, 3}, bins, true);
        check_freeze(*freezer, content, {7, 3}, 8, false);
      }
    });
  }
}

TEST_CASE("a group of very many k-mers, and of very many strings") {
  for (const std::uint32_t k : countable({31, 55})) {
    with_types(k, [&]<class Kmer, class Key, class Flanks>() {
      std::mt19937_64 random(k);
      CountedContent<Kmer, Key, Flanks> content(k, true);
      OneMinimizer one(k, random);
      const std::uint32_t out_of = k == 31 ? 8 : 3;
      while (content.shards.size() < 100'000) content.add(one.changed(out_of), random_count(random));
      content.add(random_text(random, 20'000), 1);
      const auto freezer = make_string_freezer<Kmer>(content.params);
      check_freeze(*freezer, content, {0, 4096}, 16, true);
      check_freeze(*freezer, content, {0, 4096}, 4, false);
    });
  }
}

TEST_CASE("no k-mers at all") {
  const CountedContent<Key64, Key64, Key64> content(31, true);
  const auto freezer = make_string_freezer<Key64>(content.params);
  check_freeze(*freezer, content, {5, 10}, 4, true);
}

}  // namespace
