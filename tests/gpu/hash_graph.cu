// HashGraphs on a GPU: grouped, they are the ones that threads build; ungrouped, they have the same content;
// and both probes find what std::unordered_multimap finds.

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "bench/tables/host_hash_graph.h"
#include "gpu/device.h"
#include "gpu/on_device.cuh"
#include "kernels/tables/hash_graph.cuh"

namespace {

using namespace warpmer;
using namespace warpmer::gpu;
using table::HashedBucket;
using table::HashGraphVersion;
using tests::on_device;

template <class Key>
struct KeyHash {
  std::size_t operator()(Key key) const {
    return static_cast<std::size_t>(key) * 31 + static_cast<std::size_t>(static_cast<Key128>(key) >> 64);
  }
};

template <class T>
std::vector<T> on_host(const DeviceArray<T>& array, std::size_t n, const Stream& stream) {
  std::vector<T> values(n);
  copy_to_host(values.data(), array.data(), n, stream);
  stream.wait();
  return values;
}

/// The arrays of a graph, on the host.
template <class Key>
struct Copy {
  Copy(const DeviceHashGraph<Key>& graph, const Stream& stream)
      : offsets(on_host(graph.offsets, std::size_t{graph.bucket_of.buckets()} + 1, stream)),
        keys(on_host(graph.keys, graph.keys.size(), stream)),
        values(on_host(graph.values, graph.values.size(), stream)) {}
  std::vector<std::uint32_t> offsets;
  std::vector<Key> keys;
  std::vector<std::uint32_t> values;
};

template <class Key>
void check_same(const Copy<Key>& device, const bench::HashGraph<Key, std::uint32_t>& host, bool in_order) {
  const std::uint32_t buckets = host.bucket_of.buckets();
  REQUIRE(std::equal(device.offsets.begin(), device.offsets.end(), host.offsets.get()));
  if (in_order) {
    CHECK(std::equal(device.keys.begin(), device.keys.end(), host.keys.get()));
    CHECK(std::equal(device.values.begin(), device.values.end(), host.values.get()));
    return;
  }
  // The host's graph is grouped; this one is so after sorting.
  std::vector<std::tuple<std::uint32_t, Key, std::uint32_t>> content;
  for (std::uint32_t b = 0; b < buckets; ++b) {
    for (std::uint32_t i = device.offsets[b]; i < device.offsets[b + 1]; ++i)
      content.emplace_back(b, device.keys[i], device.values[i]);
  }
  std::sort(content.begin(), content.end());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < content.size(); ++i)
    wrong += std::get<1>(content[i]) == host.keys[i] && std::get<2>(content[i]) == host.values[i] ? 0 : 1;
  CHECK(wrong == 0);
}

/// Answers against the number of entries and, in a grouped graph, against the entries themselves.
template <class Key>
void check_matches(const std::vector<Matches>& matches, const std::vector<Key>& queries,
                   const Copy<Key>& graph, bool grouped,
                   const std::unordered_map<Key, std::uint32_t, KeyHash<Key>>& counts) {
  std::size_t wrong_counts = 0, wrong_entries = 0;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const auto found = counts.find(queries[q]);
    const std::uint32_t expected = found == counts.end() ? 0 : found->second;
    wrong_counts += matches[q].count == expected ? 0 : 1;
    if (expected == 0 || matches[q].count != expected) continue;
    // Only the first and the last of a hot key: all of them for all queries would be too many.
    const std::uint32_t last = matches[q].first + (grouped ? expected - 1 : 0);
    wrong_entries += graph.keys[matches[q].first] == queries[q] && graph.keys[last] == queries[q] ? 0 : 1;
  }
  CHECK(wrong_counts == 0);
  CHECK(wrong_entries == 0);
}

template <class Key>
void check_all(const std::vector<Key>& keys, const std::vector<Key>& queries, std::uint32_t buckets,
               bool also_ungrouped = true) {
  CAPTURE(keys.size());
  CAPTURE(buckets);
  CAPTURE(sizeof(Key));
  const HashedBucket<Key> bucket_of(buckets, 17);
  const std::uint32_t* const numbers = nullptr;
  const auto expected =
      bench::build_hash_graph(keys.data(), numbers, keys.size(), bucket_of, {HashGraphVersion::v2, true, 2});
  std::unordered_map<Key, std::uint32_t, KeyHash<Key>> counts;
  for (const Key key : keys) ++counts[key];
  const Stream stream;
  const auto device_keys = on_device(keys, stream);
  const auto device_queries = on_device(queries, stream);
  DeviceArray<Matches> matches(std::max<std::size_t>(queries.size(), 1));
  for (const auto version : {HashGraphVersion::v1, HashGraphVersion::v2}) {
    for (const bool group : {true, false}) {
      if (!group && !also_ungrouped) continue;
      CAPTURE(group);
      CAPTURE(static_cast<int>(version));
      const auto graph =
          build_hash_graph(device_keys.data(), numbers, keys.size(), bucket_of, version, group, stream);
      const Copy<Key> copy(graph, stream);
      check_same(copy, expected, group);
      probe_standard<Key>(graph.view(), device_queries.data(), queries.size(), matches.data(), stream);
      check_matches(on_host(matches, queries.size(), stream), queries, copy, group, counts);
      for (const bool group_queries : {true, false}) {
        const auto asked = build_hash_graph(device_queries.data(), numbers, queries.size(), bucket_of,
                                            version, group_queries, stream);
        fill_bytes(matches.data(), 0xA5, matches.size(), stream);
        probe_new<Key>(graph.view(), asked.view(), queries.size(), matches.data(), stream);
        check_matches(on_host(matches, queries.size(), stream), queries, copy, group, counts);
      }
    }
  }
}

/// A key told by a number, with bits at both ends of its width.
template <class Key>
Key key_of(std::uint64_t number) {
  return static_cast<Key>((static_cast<Key128>(number) << (sizeof(Key) * 8 - 24)) ^ number);
}

template <class Key>
void check_duplicates() {
  std::mt19937_64 random(sizeof(Key));
  constexpr std::size_t kKeys = 1'000'000;
  for (const std::size_t copies : {1, 2, 8, 32}) {
    std::vector<Key> keys, queries;
    for (std::size_t i = 0; i < kKeys; ++i) keys.push_back(key_of<Key>(random() % (kKeys / copies)));
    for (std::size_t i = 0; i < 100'000; ++i) queries.push_back(key_of<Key>(random() % (2 * kKeys / copies)));
    for (const double load : {0.5, 4.0}) check_all(keys, queries, table::buckets_for(kKeys, load));
  }
}

TEST_CASE("HashGraph on a GPU: keys that come 1 to 32 times, at loads of 0.5 to 4") {
  check_duplicates<std::uint32_t>();
  check_duplicates<Key64>();
  check_duplicates<Key128>();
}

TEST_CASE("HashGraph on a GPU: nothing, little, one bucket for all") {
  for (const std::uint32_t buckets : {1u, 2u, 7u, 1000u}) {
    check_all<Key64>({}, {5, 6}, buckets);
    check_all<Key64>({5}, {5, 6, 5}, buckets);
    check_all<Key64>({5, 5, 5}, {}, buckets);
    check_all<Key64>({~Key64{0}, 0, ~Key64{0}}, {0, ~Key64{0}, 1}, buckets);
  }
  std::vector<Key64> keys;
  for (Key64 i = 0; i < 2000; ++i) keys.push_back(i * i % 811);
  check_all<Key64>(keys, keys, 1);
}

TEST_CASE("HashGraph on a GPU: keys chosen to share a bucket, among others") {
  const std::uint32_t buckets = 65536;
  const HashedBucket<Key64> bucket_of(buckets, 17);
  std::vector<Key64> keys, queries;
  for (Key64 key = 0; keys.size() < 20'000; ++key) {
    if (bucket_of(key) % 1000 != 123) continue;
    keys.push_back(key);
    if (key % 3 == 0) keys.push_back(key);
    if (key % 7 == 0) queries.push_back(key);
    if (key % 11 == 0) queries.push_back(key + 1);
  }
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(3));
  check_all(keys, queries, buckets);
}

TEST_CASE("HashGraph on a GPU: a hot key, asked for as often as it is there") {
  constexpr std::size_t kKeys = 10'000'000;
  std::vector<Key64> keys(kKeys, 42), queries(kKeys, 42);
  for (std::size_t i = 0; i < kKeys; i += 100) keys[i] = i;
  for (std::size_t i = 0; i < kKeys; i += 50) queries[i] = 2 * i;
  check_all(keys, queries, 1u << 20, false);  // ungrouped, these are 10^14 pairs
}

TEST_CASE("HashGraph on a GPU: more entries than a few bins") {
  std::mt19937_64 random(5);
  std::vector<Key64> keys(20'000'000), queries(1'000'000);
  for (Key64& key : keys) key = random() % 8'000'000;
  for (Key64& key : queries) key = random() % 16'000'000;
  check_all(keys, queries, table::buckets_for(keys.size(), 1.5));
}

TEST_CASE("HashGraph on a GPU: more buckets in a bin than shared memory has counts for") {
  const HashedBucket<Key64> bucket_of((1u << 29) + 5, 17);
  std::vector<Key64> keys;
  for (Key64 key = 0; key < 10'000; ++key) keys.insert(keys.end(), 1 + key % 3, key);
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(3));
  std::vector<Key64> queries;
  for (Key64 key = 0; key < 20'000; ++key) queries.push_back(key);
  const Stream stream;
  const auto device_keys = on_device(keys, stream);
  const auto device_queries = on_device(queries, stream);
  const auto graph = build_hash_graph<Key64>(device_keys.data(), nullptr, keys.size(), bucket_of,
                                             HashGraphVersion::v2, false, stream);
  DeviceArray<Matches> matches(queries.size());
  probe_standard<Key64>(graph.view(), device_queries.data(), queries.size(), matches.data(), stream);
  const std::vector<Matches> found = on_host(matches, queries.size(), stream);
  std::size_t wrong = 0;
  for (Key64 key = 0; key < queries.size(); ++key) {
    const std::uint32_t expected = key < 10'000 ? 1 + key % 3 : 0;
    if (found[key].count != expected) ++wrong;
  }
  CHECK(wrong == 0);
}

}  // namespace
