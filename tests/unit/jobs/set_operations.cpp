// Set algebra on indexes against maps: every operation and count rule, any number of inputs, both widths of
// keys, and what must be refused. ctest: long

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "base/error.h"
#include "jobs/set_job.h"
#include "kmer_index.h"
#include "tier.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;
using namespace warpmer::backend;
using namespace warpmer::jobs;
using index::test::ScratchFolder;

namespace {

template <class Key>
using Counts = std::map<Key, std::uint64_t>;

/// Returns the place of a hash. For k <= 12 the operations need only that equal hashes are in equal shards.
template <class Key>
std::pair<std::uint32_t, Key> place_of_hash(Key hash, const index::IndexParams& params) {
  if (params.k > kMaxDenseK) return tests::place_of(KmerHash<Key>(params.k).inverse(hash), params);
  return {static_cast<std::uint32_t>(hash * 7 / 3) % params.shards(), hash};
}

/// For k > 12, `few_bits` mean nothing: the number of shards is fixed. K-mers are as read, so that all have
/// a place.
template <class Key>
void write_index(const std::string& path, std::uint32_t k, std::uint32_t few_bits,
                 const Counts<Key>& counts) {
  const index::IndexParams params{.k = k,
                                  .canonical = k <= kMaxDenseK,
                                  .minimizer_length = minimizer_length(k),
                                  .shard_bits = k <= kMaxDenseK ? few_bits : shard_bits(k)};
  tests::KmerPlaces<Key> places;
  for (const auto& [hash, count] : counts) places[place_of_hash(hash, params)] = count;
  tests::write_places(path, params, places, 3);
}

template <class Key>
Counts<Key> read_index(const std::string& path) {
  const index::IndexFile file(path);
  Counts<Key> counts;
  for (const auto& [place, count] : tests::read_places<Key>(file))
    counts[KmerHash<Key>(file.params().k)(tests::kmer_at(place, file.params()))] = count;
  CHECK(counts.size() == file.totals().stored_distinct);
  return counts;
}

/// The operation, k-mer by k-mer.
template <class Key>
Counts<Key> oracle(const SetOptions& options, const std::vector<Counts<Key>>& inputs) {
  std::set<Key> hashes;
  for (const auto& input : inputs) {
    for (const auto& [hash, count] : input) hashes.insert(hash);
  }
  Counts<Key> result;
  for (const Key hash : hashes) {
    std::vector<std::uint64_t> there;
    std::vector<std::size_t> where;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto found = inputs[i].find(hash);
      if (found == inputs[i].end()) continue;
      const CountBounds bounds =
          options.of_inputs.empty() ? CountBounds{} : options.of_inputs[i % options.of_inputs.size()];
      if (found->second < bounds.min || found->second > bounds.max) continue;
      there.push_back(found->second);
      where.push_back(i);
    }
    if (there.empty()) continue;
    std::uint64_t sum = 0;
    for (const std::uint64_t count : there) sum += count;
    bool is_kept = false;
    switch (options.rule.operation) {
      case SetOperation::unite:
        is_kept = there.size() >= options.rule.min_samples;
        break;
      case SetOperation::intersect:
        is_kept = there.size() == inputs.size();
        break;
      case SetOperation::subtract:
        is_kept = where[0] == 0 && (there.size() == 1 || (options.rule.counts == CountRule::difference &&
                                                          there[0] > sum - there[0]));
        break;
      case SetOperation::symmetric_difference:
        is_kept = there.size() == 1;
        break;
    }
    const std::map<CountRule, std::uint64_t> by_rule{{CountRule::sum, sum},
                                                     {CountRule::min, *std::ranges::min_element(there)},
                                                     {CountRule::max, *std::ranges::max_element(there)},
                                                     {CountRule::first, there.front()},
                                                     {CountRule::last, there.back()},
                                                     {CountRule::samples, there.size()},
                                                     {CountRule::difference, 2 * there[0] - sum}};
    const std::uint64_t count = by_rule.at(options.rule.counts);
    if (is_kept && options.rule.of_result.contains(count)) result[hash] = count;
  }
  return result;
}

struct Case {
  SetOperation operation;
  CountRule rule;
  std::uint32_t min_samples = 1;
  std::vector<CountBounds> of_inputs{};
  CountBounds of_result{};
};

std::vector<Case> cases(std::size_t inputs) {
  std::vector<Case> all;
  for (const CountRule rule : {CountRule::sum, CountRule::min, CountRule::max, CountRule::first,
                               CountRule::last, CountRule::samples}) {
    all.push_back({SetOperation::unite, rule});
    all.push_back({SetOperation::intersect, rule});
    all.push_back({SetOperation::unite,
                   rule,
                   static_cast<std::uint32_t>((inputs + 1) / 2),
                   {{2, UINT64_MAX}},
                   {1, 40}});
  }
  all.push_back({SetOperation::intersect, CountRule::min, 1, {{2, 30}}, {3, 20}});
  if (inputs < 2) return all;
  std::vector<CountBounds> bounds(inputs);
  bounds[0] = {3, UINT64_MAX};
  bounds[1] = {2, 9};
  for (const CountRule rule : {CountRule::first, CountRule::difference}) {
    all.push_back({SetOperation::subtract, rule});
    all.push_back({SetOperation::subtract, rule, 1, bounds});
  }
  all.push_back({SetOperation::symmetric_difference, CountRule::first});
  all.push_back({SetOperation::symmetric_difference, CountRule::first, 1, bounds, {2, UINT64_MAX}});
  return all;
}

SetReport run(SetOptions options, unsigned threads = 2) {
  JobProgress progress;
  options.resources.threads = threads;
  options.resources.memory_bytes = std::uint64_t{4} << 30;
  return run_set_operation(options, progress);
}

/// Inputs that share most of their k-mers, some, or none; one is empty when there are many.
template <class Key>
std::vector<Counts<Key>> random_inputs(std::uint32_t k, std::size_t inputs, std::size_t size) {
  std::mt19937_64 random(k + inputs);
  const Key mask = key_mask<Key>(k);
  std::vector<Key> pool(size);
  for (Key& key : pool) {
    key = random();
    if constexpr (sizeof(Key) == 16) key = key << 64 | random();
    key &= mask;
  }
  std::vector<Counts<Key>> all(inputs);
  for (std::size_t i = 0; i < inputs; ++i) {
    if (i == 3) continue;
    for (const Key key : pool) {
      if (random() % 3 != 0)
        all[i][key] = random() % 50 == 0 ? random() >> (24 + random() % 39) : 1 + random() % 5;
    }
    all[i][mask] = 1 + i;  // the largest hash there is
  }
  for (auto& counts : all) std::erase_if(counts, [](const auto& entry) { return entry.second == 0; });
  return all;
}

/// In the sample tier `few_cases` of them.
template <class Key>
void compare_with_oracle(std::uint32_t k, std::uint32_t shard_bits, std::size_t inputs, std::size_t size,
                         std::size_t few_cases = 4) {
  const ScratchFolder scratch;
  const auto all = random_inputs<Key>(k, inputs, size);
  SetOptions options;
  for (std::size_t i = 0; i < inputs; ++i) {
    options.inputs.push_back(scratch / std::to_string(i));
    write_index(options.inputs.back(), k, shard_bits, all[i]);
  }
  options.output = scratch / "out";
  for (const Case& one : tests::some(cases(inputs), few_cases)) {
    CAPTURE(static_cast<int>(one.operation));
    CAPTURE(static_cast<int>(one.rule));
    options.rule = {one.operation, one.rule, one.min_samples, one.of_result};
    options.of_inputs = one.of_inputs;
    const SetReport report = run(options);
    const Counts<Key> expected = oracle(options, all);
    CHECK((read_index<Key>(options.output) == expected));
    std::uint64_t kmers = 0;
    for (const auto& [hash, count] : expected) kmers += count;
    CHECK(report.totals.stored_kmers == kmers);
    CHECK(report.totals.records == (one.operation == SetOperation::subtract ? 1 : inputs) * 3);
  }
}

}  // namespace

TEST_CASE("set operations: as k-mer by k-mer, for one, two and more inputs") {
  for (const std::size_t inputs : tests::by_tier<std::vector<std::size_t>>({1, 2, 3, 6}, {3})) {
    CAPTURE(inputs);
    compare_with_oracle<Key64>(1, 0, inputs, 3);
    compare_with_oracle<Key64>(6, 0, inputs, 3000);
    compare_with_oracle<Key64>(21, 2, inputs, 500, SIZE_MAX);
    compare_with_oracle<Key128>(33, 2, inputs, 300, 13);
  }
  compare_with_oracle<Key64>(32, 1, 2, 2000);
  compare_with_oracle<Key128>(64, 0, 2, 1000);
  compare_with_oracle<Key64>(31, 1, 70, tests::by_tier(400, 50));
}

TEST_CASE("set operations: shards that are merged in several parts, on any number of threads") {
  const ScratchFolder scratch;
  const std::size_t size = tests::by_tier(40000, 20000);
  const auto all = random_inputs<Key64>(31, 3, size);
  SetOptions options;
  for (std::size_t i = 0; i < all.size(); ++i) {
    options.inputs.push_back(scratch / std::to_string(i));
    write_index(options.inputs.back(), 31, 1, all[i]);
  }
  // Much smaller than the others: a part is less than one of its buckets.
  options.inputs.push_back(scratch / "few");
  write_index(options.inputs.back(), 31, 1, Counts<Key64>(all[0].begin(), std::next(all[0].begin(), 20)));
  options.output = scratch / "out";
  (void)run(options, 1);
  const std::string bytes = index::test::read_bytes(options.output);
  (void)run(options, 3);
  CHECK(index::test::read_bytes(options.output) == bytes);
  auto with_few = all;
  with_few.emplace_back(all[0].begin(), std::next(all[0].begin(), 20));
  CHECK((read_index<Key64>(options.output) == oracle(options, with_few)));
}

TEST_CASE("set operations: nothing in, nothing out, and the same input twice") {
  const ScratchFolder scratch;
  write_index<Key64>(scratch / "none", 21, 2, {});
  write_index<Key64>(scratch / "one", 21, 2, {{5, 2}, {9, 1}});
  SetOptions options;
  options.output = scratch / "out";
  options.inputs = {scratch / "none", scratch / "none"};
  for (const SetOperation operation : {SetOperation::unite, SetOperation::intersect, SetOperation::subtract,
                                       SetOperation::symmetric_difference}) {
    options.rule.operation = operation;
    options.rule.counts = operation == SetOperation::subtract ? CountRule::first : CountRule::sum;
    CHECK(run(options).totals.stored_distinct == 0);
    CHECK(read_index<Key64>(options.output).empty());
  }
  options.inputs = {scratch / "one", scratch / "one"};
  options.rule.operation = SetOperation::unite;
  options.rule.counts = CountRule::sum;
  (void)run(options);
  CHECK((read_index<Key64>(options.output) == Counts<Key64>{{5, 4}, {9, 2}}));
  options.rule.operation = SetOperation::symmetric_difference;
  CHECK(run(options).totals.stored_distinct == 0);
}

TEST_CASE("set operations: a sum beyond 64 bits matters where its k-mer is in the result") {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  const ScratchFolder scratch;
  SetOptions options;
  options.inputs = {scratch / "a", scratch / "b", scratch / "c"};
  options.output = scratch / "out";
  options.rule.counts = CountRule::sum;
  const auto result_of = [&](SetOperation operation, std::uint32_t min_samples, const CountBounds& kept) {
    options.rule = {operation, CountRule::sum, min_samples, kept};
    (void)run(options);
    return read_index<Key64>(options.output);
  };
  for (const std::uint32_t k : {11, 21}) {
    CAPTURE(k);
    // Two halves are 2^64, whose lowest 64 bits are 0.
    write_index<Key64>(scratch / "a", k, 2, {{5, kHalf}, {9, 2}});
    write_index<Key64>(scratch / "b", k, 2, {{5, kHalf}, {9, 3}});
    write_index<Key64>(scratch / "c", k, 2, {{9, 4}});
    const Counts<Key64> only{{9, 9}};
    CHECK((result_of(SetOperation::intersect, 1, {}) == only));
    CHECK((result_of(SetOperation::unite, 3, {}) == only));
    CHECK((result_of(SetOperation::unite, 1, {1, 9}) == only));
    CHECK((result_of(SetOperation::unite, 2, {1, UINT64_MAX - 1}) == only));
    for (const std::uint32_t samples : {1, 2}) {
      for (const std::uint64_t least : {1, 10}) {
        CHECK_THROWS_WITH_AS((void)result_of(SetOperation::unite, samples, {least, UINT64_MAX}),
                             doctest::Contains("counts of a k-mer add up to more than 2^64 - 1"), InputError);
      }
    }
    write_index<Key64>(scratch / "c", k, 2, {{5, 1}});
    CHECK_THROWS_WITH_AS((void)result_of(SetOperation::intersect, 1, {}),
                         doctest::Contains("counts of a k-mer add up to more than 2^64 - 1"), InputError);
    write_index<Key64>(scratch / "c", k, 2, {});
    write_index<Key64>(scratch / "b", k, 2, {{5, kHalf - 1}});
    CHECK((result_of(SetOperation::unite, 2, {}) == Counts<Key64>{{5, UINT64_MAX}}));
  }
}

TEST_CASE("set operations: what does not go together is refused, and nothing is left") {
  const ScratchFolder scratch;
  const Counts<Key64> few{{5, 2}, {9, UINT64_MAX / 2}};
  write_index(scratch / "a", 11, 2, few);
  write_index(scratch / "k", 12, 2, few);
  write_index(scratch / "shards", 11, 3, few);
  SetOptions options;
  options.output = scratch / "out";
  options.inputs = {scratch / "a", scratch / "k"};
  CHECK_THROWS_WITH_AS((void)run(options), doctest::Contains("k has k = 12, "), UsageError);
  options.inputs = {scratch / "a", scratch / "a", scratch / "shards"};
  CHECK_THROWS_WITH_AS((void)run(options), doctest::Contains("shards has 8 shards, "), UsageError);
  options.inputs = {scratch / "a"};
  options.rule.operation = SetOperation::subtract;
  CHECK_THROWS_WITH_AS((void)run(options), doctest::Contains("two or more"), UsageError);
  options.rule.operation = SetOperation::unite;
  options.rule.min_samples = 2;
  CHECK_THROWS_WITH_AS((void)run(options), doctest::Contains("lower --min-samples"), UsageError);
  options.rule.min_samples = 1;
  options.inputs = {scratch / "a", scratch / "a", scratch / "a"};
  CHECK_THROWS_WITH_AS((void)run(options), doctest::Contains("add up to more than 2^64 - 1"), InputError);
  options.rule.counts = CountRule::max;
  (void)run(options);
  CHECK((read_index<Key64>(options.output) == few));
  options.resources.memory_bytes = 1 << 20;
  JobProgress progress;
  CHECK_THROWS_WITH_AS((void)run_set_operation(options, progress), doctest::Contains("raise -m"),
                       ResourceError);
  CHECK(scratch.files() == 4);
}
