// HashGraphs on threads, against std::unordered_multimap: all keys and values, whatever repeats and crowds.

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include "bench/tables/host_hash_graph.h"
#include "tier.h"

using namespace warpmer;

namespace {

using table::EntryRange;
using table::HashedBucket;

template <class Key>
struct KeyHash {
  std::size_t operator()(Key key) const {
    return static_cast<std::size_t>(key) * 31 + static_cast<std::size_t>(static_cast<Key128>(key) >> 64);
  }
};
template <class Key>
using Oracle = std::unordered_multimap<Key, std::uint32_t, KeyHash<Key>>;

template <class Key>
Oracle<Key> oracle_of(const std::vector<Key>& keys) {
  Oracle<Key> oracle;
  oracle.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) oracle.emplace(keys[i], static_cast<std::uint32_t>(i));
  return oracle;
}

std::vector<std::uint32_t> numbers_up_to(std::size_t n) {
  std::vector<std::uint32_t> numbers(n);
  for (std::size_t i = 0; i < n; ++i) numbers[i] = static_cast<std::uint32_t>(i);
  return numbers;
}

/// A key told by a number, with bits at both ends of its width.
template <class Key>
Key key_of(std::uint64_t number) {
  return static_cast<Key>((static_cast<Key128>(number) << (sizeof(Key) * 8 - 24)) ^ number);
}

/// The comparable part of answers: the query's number and the values found, in order.
using Answers = std::vector<std::vector<std::uint32_t>>;

template <class Graph>
void add_values(std::vector<std::uint32_t>& to, const Graph& graph, EntryRange found) {
  for (std::uint64_t i = found.first; i < found.last; ++i) to.push_back(graph.values[i]);
}

template <class Key, class Graph>
Answers by_probe_standard(const Graph& graph, const std::vector<Key>& queries, unsigned threads) {
  Answers answers(queries.size());
  bench::probe_standard(
      graph.view(), queries.data(), queries.size(), threads,
      [&](unsigned, std::size_t query, EntryRange found) { add_values(answers[query], graph, found); });
  for (auto& values : answers) std::sort(values.begin(), values.end());
  return answers;
}

template <class Key, class Graph>
Answers by_probe_new(const Graph& graph, const std::vector<Key>& queries, const bench::HashGraphPlan& plan) {
  const std::uint32_t* const numbers = nullptr;
  const auto asked = bench::build_hash_graph(queries.data(), numbers, queries.size(), graph.bucket_of, plan);
  Answers answers(queries.size());
  bench::probe_new(graph.view(), asked.view(), plan.threads,
                   [&](unsigned, EntryRange same, EntryRange found) {
                     for (std::uint64_t i = same.first; i < same.last; ++i)
                       add_values(answers[asked.values[i]], graph, found);
                   });
  for (auto& values : answers) std::sort(values.begin(), values.end());
  return answers;
}

template <class Key>
Answers by_oracle(const Oracle<Key>& oracle, const std::vector<Key>& queries) {
  Answers answers(queries.size());
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const auto [first, last] = oracle.equal_range(queries[q]);
    for (auto it = first; it != last; ++it) answers[q].push_back(it->second);
    std::sort(answers[q].begin(), answers[q].end());
  }
  return answers;
}

/// Entries lie in their buckets, are those that were given and, in a grouped graph, in order. Returns them.
template <class Key, class Graph>
std::vector<std::tuple<std::uint32_t, Key, std::uint32_t>> checked_content(const Graph& graph,
                                                                           const std::vector<Key>& keys) {
  std::vector<std::tuple<std::uint32_t, Key, std::uint32_t>> content;
  const auto view = graph.view();
  std::size_t misplaced = 0, wrong = 0;
  REQUIRE(view.offsets[0] == 0);
  REQUIRE(view.offsets[view.buckets()] == keys.size());
  for (std::uint32_t b = 0; b < view.buckets(); ++b) {
    const EntryRange bucket = view.bucket(b);
    misplaced += bucket.first <= bucket.last ? 0 : 1;
    for (std::uint64_t i = bucket.first; i < bucket.last; ++i) {
      misplaced += view.bucket_of(view.keys[i]) == b ? 0 : 1;
      wrong += keys[view.values[i]] == view.keys[i] ? 0 : 1;
      content.emplace_back(b, view.keys[i], view.values[i]);
    }
  }
  CHECK(misplaced == 0);
  CHECK(wrong == 0);
  if (graph.grouped) CHECK(std::is_sorted(content.begin(), content.end()));
  std::sort(content.begin(), content.end());
  // Values are the numbers of the entries: none twice means all there.
  CHECK(std::adjacent_find(content.begin(), content.end()) == content.end());
  CHECK(content.size() == keys.size());
  return content;
}

template <class Key>
void check_all(const std::vector<Key>& keys, const std::vector<Key>& queries, std::uint32_t buckets) {
  CAPTURE(keys.size());
  CAPTURE(buckets);
  CAPTURE(sizeof(Key));
  const std::vector<std::uint32_t> values = numbers_up_to(keys.size());
  const Answers expected = by_oracle(oracle_of(keys), queries);
  std::vector<std::tuple<std::uint32_t, Key, std::uint32_t>> content;
  for (const auto version : {table::HashGraphVersion::v1, table::HashGraphVersion::v2}) {
    for (const bool group : {false, true}) {
      for (const unsigned threads : {1u, 3u}) {
        const bench::HashGraphPlan plan{version, group, threads};
        const auto graph = bench::build_hash_graph(keys.data(), values.data(), keys.size(),
                                                   HashedBucket<Key>(buckets, 17), plan);
        const auto here = checked_content(graph, keys);
        if (content.empty()) content = here;
        CHECK(here == content);
        CHECK(by_probe_standard(graph, queries, threads) == expected);
        for (const bool group_queries : {false, true}) {
          const bench::HashGraphPlan query_plan{version, group_queries, threads};
          CHECK(by_probe_new(graph, queries, query_plan) == expected);
        }
      }
    }
  }
}

template <class Key>
void check_duplicates() {
  std::mt19937_64 random(sizeof(Key));
  const std::size_t n = tests::by_tier<std::size_t>(60'000, 3'000);
  for (const std::size_t copies : {1, 2, 8, 32}) {
    std::vector<Key> keys, queries;
    for (std::size_t i = 0; i < n; ++i) keys.push_back(key_of<Key>(random() % (n / copies)));
    // Half of what is asked for is there.
    for (std::size_t i = 0; i < 2000; ++i) queries.push_back(key_of<Key>(random() % (2 * n / copies)));
    for (const double load : {0.5, 1.0, 4.0}) check_all(keys, queries, table::buckets_for(n, load));
  }
}

}  // namespace

TEST_CASE("HashGraph: keys that come 1 to 32 times, at loads of 0.5 to 4") {
  check_duplicates<std::uint32_t>();
  check_duplicates<Key64>();
  check_duplicates<Key128>();
}

TEST_CASE("HashGraph: nothing, little, one bucket for all") {
  for (const std::uint32_t buckets : {1u, 2u, 7u, 1000u}) {
    check_all<Key64>({}, {5, 6}, buckets);
    check_all<Key64>({5}, {5, 6, 5}, buckets);
    check_all<Key64>({5, 5, 5}, {}, buckets);
    check_all<Key64>({~Key64{0}, 0, ~Key64{0}}, {0, ~Key64{0}, 1}, buckets);
  }
  std::vector<Key64> keys;
  for (Key64 i = 0; i < 500; ++i) keys.push_back(i * i % 211);
  check_all<Key64>(keys, keys, 1);
}

TEST_CASE("HashGraph: keys chosen to share a bucket") {
  const std::uint32_t buckets = 4096;
  const HashedBucket<Key64> bucket_of(buckets, 17);
  std::vector<Key64> keys, queries;
  for (Key64 key = 0; keys.size() < 3000; ++key) {
    if (bucket_of(key) != 1234) continue;
    keys.push_back(key);
    if (key % 3 == 0) keys.push_back(key);
    if (key % 5 == 0) queries.push_back(key);
    queries.push_back(key + 1);
  }
  queries.resize(400);
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(3));
  check_all(keys, queries, buckets);
}

TEST_CASE("HashGraph: a hot key is no more work than other keys") {
  const std::size_t n = tests::by_tier<std::size_t>(10'000'000, 200'000);
  std::vector<Key64> keys(n, 42);
  for (std::size_t i = 0; i < n; i += 100) keys[i] = i;
  const std::vector<std::uint32_t> values = numbers_up_to(n);
  const std::size_t hot = static_cast<std::size_t>(std::count(keys.begin(), keys.end(), Key64{42}));
  const std::vector<Key64> queries(n, 42);
  for (const auto version : {table::HashGraphVersion::v1, table::HashGraphVersion::v2}) {
    const bench::HashGraphPlan plan{version, true, 2};
    const auto graph = bench::build_hash_graph(keys.data(), values.data(), keys.size(),
                                               HashedBucket<Key64>(1u << 20, 1), plan);
    const EntryRange found = graph.view().find(42);
    CHECK(found.size() == hot);
    CHECK(graph.view().count(100) == 1);
    CHECK(std::is_sorted(graph.values.get() + found.first, graph.values.get() + found.last));
    // As many queries for the hot key as it has entries: 10^14 pairs, told as one.
    std::atomic<std::uint64_t> standard{0};
    bench::probe_standard(graph.view(), queries.data(), n, 2,
                          [&](unsigned, std::size_t, EntryRange range) { standard += range.size() == hot; });
    CHECK(standard == n);
    const auto asked = bench::build_hash_graph(queries.data(), values.data(), n, graph.bucket_of, plan);
    std::uint64_t pairs = 0;
    bench::probe_new(graph.view(), asked.view(), 1, [&](unsigned, EntryRange same, EntryRange range) {
      pairs += same.size() * range.size();
    });
    CHECK(pairs == std::uint64_t{n} * hot);
  }
}

TEST_CASE("HashGraph: V2 gives the same arrays for any number of threads, and ordered hashes in order") {
  std::mt19937_64 random(8);
  constexpr std::uint32_t kBits = 40;
  std::vector<Key64> keys(100'000);
  for (Key64& key : keys) key = random() >> (64 - kBits);
  const std::vector<std::uint32_t> values = numbers_up_to(keys.size());
  const table::TopBitsBucket<Key64> bucket_of(kBits, 15);
  for (const bool group : {false, true}) {
    const auto one = bench::build_hash_graph(keys.data(), values.data(), keys.size(), bucket_of,
                                             {table::HashGraphVersion::v2, group, 1});
    const auto five = bench::build_hash_graph(keys.data(), values.data(), keys.size(), bucket_of,
                                              {table::HashGraphVersion::v2, group, 5});
    CHECK(std::equal(one.keys.get(), one.keys.get() + keys.size(), five.keys.get()));
    CHECK(std::equal(one.values.get(), one.values.get() + keys.size(), five.values.get()));
    CHECK(std::equal(one.offsets.get(), one.offsets.get() + bucket_of.buckets() + 1, five.offsets.get()));
    if (group) CHECK(std::is_sorted(one.keys.get(), one.keys.get() + keys.size()));
  }
}
