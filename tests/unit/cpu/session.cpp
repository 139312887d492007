// The session suite on the CPU backend, and what only a CPU is asked for: several devices, little memory.
// ctest: long

#include "sessions/session_suite.h"
#include "tier.h"

using namespace warpmer;
using namespace warpmer::tests;

TEST_CASE("sessions count what the naive counter counts, with any threads and devices") {
  match_the_oracle(
      *backend::make_cpu_backend(),
      by_tier<std::vector<std::uint32_t>>({1, 5, 9, 13, 31, 32, 33, 48, 49, 64}, {9, 13, 32, 33, 64}),
      {{1, 1}, {3, 1}, {1, 3}, {2, 5}});
}

TEST_CASE("whatever shards are counted in, the bytes are the same") {
  count_in_any_table(*backend::make_cpu_backend(),
                     by_tier<std::vector<std::uint32_t>>({15, 31, 32, 33, 64}, {31, 64}));
}

TEST_CASE("k-mers of one base in a row are counted, and travel together") {
  const auto cpu = backend::make_cpu_backend();
  auto reads = simulated_reads(300, 2000, 6);
  for (const char base : {'G', 'A', 'C', 'T'}) reads.insert(reads.begin() + 50, 500, std::string(150, base));
  for (const std::uint32_t k :
       by_tier<std::vector<std::uint32_t>>({13, 15, 21, 31, 32, 47, 55}, {15, 31, 55})) {
    CAPTURE(k);
    backend::CountPlan plan = plan_for(k);
    plan.devices.cpu_devices = 2;
    for (const bool canonical : {true, false}) {
      plan.kmers.canonical = canonical;
      const auto expected = expected_counts(reads, k, canonical);
      for (const backend::CountTable table : backend::kCountTables) {
        CAPTURE(backend::name_of(table));
        plan.table = table;
        const Result result = run(*cpu, plan, batches_of(reads, 100));
        CHECK((result.counts == expected));
        if (k >= 21) CHECK(result.exchanged_bytes < result.totals.counted_kmers);
      }
    }
  }
}

TEST_CASE("totals, histogram and filter follow from the counts") {
  for (const std::uint32_t k : {9u, 21u}) filter_and_tally(*backend::make_cpu_backend(), k);
}

TEST_CASE("with little memory, shards are counted early, and the result is the same") {
  const auto cpu = backend::make_cpu_backend();
  const auto reads = simulated_reads(400000, 50000, 3, 2000);
  for (const std::uint32_t k : by_tier<std::vector<std::uint32_t>>({31, 55}, {31})) {
    CAPTURE(k);
    backend::CountPlan plan = plan_for(k);
    plan.threads = 2;
    const auto batches = batches_of(reads, 2000);
    const Result ample = run(*cpu, plan, batches, Take::payloads);
    CHECK(ample.early_counts == 0);
    std::uint64_t early = 0;
    for (const std::uint64_t megabytes : by_tier<std::vector<std::uint64_t>>({60, 62, 68}, {60})) {
      CAPTURE(megabytes);
      plan.memory_bytes = megabytes << 20;
      const Result tight = run(*cpu, plan, batches, Take::payloads);
      early += tight.early_counts;
      CHECK((tight.payloads == ample.payloads));
      CHECK((tight.histogram == ample.histogram));
    }
    CHECK(early > 0);
  }
}

TEST_CASE("counted early in any table, the result is the same") {
  const auto cpu = backend::make_cpu_backend();
  const auto batches = batches_of(simulated_reads(240000, 50000, 3, 2000), 2000);
  using Tables = std::span<const backend::CountTable>;
  const Tables named = Tables(backend::kCountTables).subspan(1);  // all but the default
  backend::CountPlan plan = plan_for(31);
  plan.table = named[0];
  const Result ample = run(*cpu, plan, batches, Take::payloads);
  plan.memory_bytes = std::uint64_t{46} << 20;
  for (const auto table : by_tier(named, named.subspan(1, 1))) {
    CAPTURE(backend::name_of(table));
    plan.table = table;
    const Result tight = run(*cpu, plan, batches, Take::payloads);
    CHECK(tight.early_counts > 0);
    CHECK((tight.payloads == ample.payloads));
    CHECK((tight.histogram == ample.histogram));
  }
}

TEST_CASE("memory that cannot do is refused at once, with what is needed") {
  backend::CountPlan plan = plan_for(31);
  plan.memory_bytes = 1 << 20;
  CHECK_THROWS_AS(backend::make_cpu_backend()->start(plan), ResourceError);
  plan.kmers.k = 12;
  CHECK_THROWS_AS(backend::make_cpu_backend()->start(plan), ResourceError);
}

TEST_CASE("distinct k-mers that do not fit are spilled, and the result is the same") {
  const auto cpu = backend::make_cpu_backend();
  const auto batches = batches_of(simulated_reads(400000, 20000000, 4), 2000);
  for (const std::uint32_t k : by_tier<std::vector<std::uint32_t>>({31, 40, 55}, {31})) {
    CAPTURE(k);
    backend::CountPlan plan = plan_for(k);
    const Result ample = run(*cpu, plan, batches, Take::payloads);
    CHECK(ample.spilled.written_bytes == 0);
    plan.memory_bytes = std::uint64_t{72} << 20;
    plan.threads = 3;
    plan.devices.cpu_devices = k == 31 ? 2 : 1;
    const Result tight = run(*cpu, plan, batches, Take::payloads);
    CHECK(tight.spilled.written_bytes > 0);
    CHECK(tight.spilled.read_bytes == tight.spilled.written_bytes);
    CHECK((tight.payloads == ample.payloads));
    CHECK((tight.histogram == ample.histogram));
  }
}

TEST_CASE("one group with more k-mers than memory has room for is refused, with what is needed") {
  const auto cpu = backend::make_cpu_backend();
  for (const std::uint32_t k : by_tier<std::vector<std::uint32_t>>({31, 40, 64, 32}, {33})) {
    CAPTURE(k);
    auto reads = hot_reads(1'000'000 / (k - minimizer_length(k) + 1), k, k);
    reads.emplace_back(100'000, 'A');
    const auto batches = batches_of(reads, 500);
    backend::CountPlan plan = plan_for(k);
    if (k == 32 || k == 33) plan.table = backend::CountTable::hashgraph;
    const Result ample = run(*cpu, plan, batches, Take::payloads, 2);
    plan.memory_bytes = std::uint64_t{50} << 20;
    CHECK_THROWS_WITH_AS(run(*cpu, plan, batches, Take::payloads, 2), doctest::Contains("MiB would do"),
                         ResourceError);
    // As often as it takes, k-mers that have been counted come again.
    const auto hot = batches_of(hot_reads(20'000 / (k - minimizer_length(k) + 1), k, k), 500);
    plan.memory_bytes = plan_for(k).memory_bytes;
    const Result once = run(*cpu, plan, hot, Take::payloads, 300);
    plan.memory_bytes = std::uint64_t{50} << 20;
    const Result tight = run(*cpu, plan, hot, Take::payloads, 300);
    CHECK((tight.payloads == once.payloads));
    CHECK((tight.histogram == once.histogram));
  }
}

TEST_CASE("no input, empty reads, reads shorter than k") {
  for (const std::uint32_t k : {1u, 5u, 31u, 64u}) next_to_nothing(*backend::make_cpu_backend(), k);
}

TEST_CASE("characters that are no nucleotide code are refused, or break k-mers when lenient") {
  for (const std::uint32_t k : {5u, 31u, 64u}) refuse_or_break(*backend::make_cpu_backend(), k);
}

TEST_CASE("an error of the sink ends the session") {
  for (const std::uint32_t k : {5u, 31u, 64u}) {
    for (const unsigned threads : {1u, 2u, 5u})
      end_with_the_sink(*backend::make_cpu_backend(), k, threads, 0);
  }
  end_with_the_sink(*backend::make_cpu_backend(), 31, 5, 2000);
}
