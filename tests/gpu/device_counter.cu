// Counting and freezing on the device gives the CPU backend's bytes.

#include <doctest/doctest.h>

#include <filesystem>
#include <random>

#include "backend/backend.h"
#include "base/error.h"
#include "gpu/counter_runs.cuh"
#include "gpu/device.h"
#include "gpu/random_reads.h"
#include "kmer/hash.h"
#include "kmer/minimizer.h"
#include "random_text.h"

namespace {

using namespace warpmer;

using tests::Payloads;

struct DeviceResult {
  Payloads payloads;
  index::Totals totals;
  index::Histogram histogram;
  gpu::SpillTotals spilled;
  std::uint64_t early_counts = 0;
};

DeviceResult on_cpu(const std::vector<std::string>& reads, const gpu::DeviceCountPlan& device) {
  backend::CountPlan plan;
  plan.kmers = device.kmers;
  plan.kept = device.kept;
  plan.memory_bytes = std::uint64_t{4} << 30;
  const auto session = backend::make_cpu_backend()->start(plan);
  io::Batch batch;
  for (const auto& read : reads) {
    io::Piece piece;
    piece.offset = static_cast<std::uint32_t>(batch.text.size());
    piece.length = static_cast<std::uint32_t>(read.size());
    batch.text.append(read);
    batch.pieces.push_back(piece);
  }
  session->add(batch, 0);
  session->end_of_input(0);
  DeviceResult result;
  const backend::ShardSink sink([&](std::uint32_t shard, index::FrozenShard&& frozen) {
    if (frozen.kmers() == 0) return;
    result.payloads[shard] = std::move(frozen.payload);
  });
  session->finish(0, sink, [] {});
  result.totals = session->tally().totals();
  result.histogram = session->tally().histogram();
  return result;
}

DeviceResult on_gpu(const std::vector<std::string>& reads, const gpu::DeviceCountPlan& plan, int times = 1) {
  const auto counter = gpu::make_device_counter(plan);
  tests::feed(*counter, reads, times);
  DeviceResult result;
  counter->end_of_input();
  tests::finish(*counter, result.payloads);
  backend::Tally tally(plan.kept);
  counter->add_to(tally);
  result.totals = tally.totals();
  result.histogram = tally.histogram();
  result.spilled = counter->spilled();
  result.early_counts = counter->early_counts();
  return result;
}

void check_same(const DeviceResult& a, const DeviceResult& b) {
  CHECK(a.payloads.size() == b.payloads.size());
  CHECK((a.payloads == b.payloads));
  CHECK((a.histogram == b.histogram));
  CHECK(a.totals.counted_kmers == b.totals.counted_kmers);
  CHECK(a.totals.counted_distinct == b.totals.counted_distinct);
  CHECK(a.totals.counted_unique == b.totals.counted_unique);
  CHECK(a.totals.stored_distinct == b.totals.stored_distinct);
}

gpu::DeviceCountPlan device_plan_for(std::uint32_t k) {
  gpu::DeviceCountPlan plan;
  plan.kmers.k = k;
  plan.memory_bytes = std::uint64_t{2} << 30;
  return plan;
}

TEST_CASE("the same shards as on the CPU for any k") {
  const auto reads = tests::random_reads(3000, 20000, 4);
  for (const std::uint32_t k : {13u, 15u, 21u, 31u, 32u, 33u, 48u, 49u, 55u, 64u}) {
    if (!tests::can_count(k)) continue;
    CAPTURE(k);
    const auto plan = device_plan_for(k);
    check_same(on_gpu(reads, plan), on_cpu(reads, plan));
  }
}

TEST_CASE("no reads, no shards") {
  const auto plan = device_plan_for(31);
  check_same(on_gpu({}, plan), on_cpu({}, plan));
  check_same(on_gpu({"ACGT"}, plan), on_cpu({"ACGT"}, plan));
}

TEST_CASE("filters and strands") {
  const auto reads = tests::random_reads(3000, 5000, 5);
  for (const std::uint32_t k : {15u, 31u, 60u}) {
    if (!tests::can_count(k)) continue;
    auto plan = device_plan_for(k);
    plan.kmers.canonical = false;
    check_same(on_gpu(reads, plan), on_cpu(reads, plan));
    plan.kept.min = 2;
    plan.kept.max = 40;
    check_same(on_gpu(reads, plan), on_cpu(reads, plan));
  }
}

TEST_CASE("hot k-mers") {
  std::vector<std::string> reads = tests::random_reads(100, 1000, 6);
  for (int i = 0; i < 300; ++i) reads.push_back(std::string(5000, i % 3 == 0 ? 'A' : 'T'));
  for (const std::uint32_t k : {31u, 64u}) {
    if (tests::can_count(k)) check_same(on_gpu(reads, device_plan_for(k)), on_cpu(reads, device_plan_for(k)));
  }
}

/// Calls `check(reads, plan)` with reads whose lists are too large for a table of 4,096 slots if there are
/// 2^12 of them, as there are where no k-mers are expected: with 3,700 different k-mers each a quarter of
/// them, which a table of 8,192 slots takes; with 10,700 all, and that does not take them either.
template <class Check>
void for_each_crowd(Check&& check) {
  for (const std::size_t n : {2000u, 4000u}) {
    const auto reads = tests::random_reads(n, n * 15000, 7, 20000);
    for (const std::uint32_t k : {31u, 33u}) {
      if (!tests::can_count(k)) continue;
      CAPTURE(k);
      auto plan = device_plan_for(k);
      plan.expected_kmers = 1;
      check(reads, plan);
    }
  }
}

TEST_CASE("lists too large for one table are counted in a larger one, or in parts") {
  for_each_crowd([](const std::vector<std::string>& reads, gpu::DeviceCountPlan& plan) {
    check_same(on_gpu(reads, plan), on_cpu(reads, plan));
    plan.kept.min = 2;  // tables hold those that are not kept, too
    check_same(on_gpu(reads, plan), on_cpu(reads, plan));
  });
}

TEST_CASE("little memory: counted early, and merged") {
  const auto reads = tests::random_reads(20000, 100000, 8);
  auto plan = device_plan_for(31);
  const DeviceResult ample = on_cpu(reads, plan);
  plan.memory_bytes = std::uint64_t{160} << 20;
  check_same(on_gpu(reads, plan), ample);
}

/// Calls `check` with each table that bins can be counted in, but for the default.
template <class Check>
void for_each_table(Check&& check) {
  for (const auto table : backend::kCountTables) {
    if (table == backend::CountTable::automatic || table == backend::CountTable::warpdrive) continue;
    CAPTURE(backend::name_of(table));
    check(table);
  }
}

TEST_CASE("whatever lists are counted in, the same shards") {
  auto reads = tests::random_reads(3000, 20000, 4);
  for (int i = 0; i < 100; ++i) reads.push_back(std::string(5000, i % 3 == 0 ? 'A' : 'T'));
  for (const std::uint32_t k : {13u, 31u, 32u, 33u, 64u}) {
    if (!tests::can_count(k)) continue;
    CAPTURE(k);
    auto plan = device_plan_for(k);
    plan.kept.min = k == 31 ? 2 : 1;
    const DeviceResult expected = on_cpu(reads, plan);
    for_each_table([&](backend::CountTable table) {
      plan.table = table;
      check_same(on_gpu(reads, plan), expected);
    });
  }
}

TEST_CASE("lists too large for one table of any scheme are counted in a larger one, or in parts") {
  for_each_crowd([](const std::vector<std::string>& reads, gpu::DeviceCountPlan& plan) {
    const DeviceResult expected = on_cpu(reads, plan);
    for_each_table([&](backend::CountTable table) {
      plan.table = table;
      check_same(on_gpu(reads, plan), expected);
    });
  });
}

TEST_CASE("little memory: counted early in any table, and merged") {
  const auto reads = tests::random_reads(20000, 100000, 8);
  auto plan = device_plan_for(31);
  const DeviceResult once = on_cpu(reads, plan);
  plan.memory_bytes = std::uint64_t{160} << 20;
  const DeviceResult thrice = on_gpu(reads, plan, 3);
  for_each_table([&](backend::CountTable table) {
    plan.table = table;
    check_same(on_gpu(reads, plan), once);
    check_same(on_gpu(reads, plan, 3), thrice);
  });
}

/// A sequence most of whose k-mers are different and share their minimizer: every 31 bases it has an m-mer
/// that hardly another one comes before.
std::string crowd(std::size_t repeats, std::uint32_t k, unsigned seed) {
  std::mt19937_64 random(seed);
  const std::uint32_t m = minimizer_length(k);
  std::uint32_t best = 0;
  for (int i = 0; i < 1000000; ++i) {
    const auto mmer = static_cast<std::uint32_t>(random() & ((std::uint64_t{1} << 2 * m) - 1));
    if (minimizer_hash(canonical_mmer(mmer, m)) < minimizer_hash(canonical_mmer(best, m))) best = mmer;
  }
  std::string sequence;
  for (std::size_t i = 0; i < repeats; ++i) {
    for (std::uint32_t base = 0; base < m; ++base) sequence += "ACGT"[best >> 2 * base & 3];
    sequence += tests::random_text(random, 31 - m);
  }
  return sequence;
}

TEST_CASE("long lists are counted by all blocks together") {
  for (const std::uint32_t k : {31u, 32u, 33u, 64u}) {
    if (!tests::can_count(k)) continue;
    CAPTURE(k);
    std::vector<std::string> reads = tests::random_reads(3000, 20000, 9);
    // More than fit the table that so little memory has for a long bin: it is counted in parts.
    reads.push_back(crowd(12000, k, 10));
    for (int i = 0; i < 100; ++i) reads.push_back(std::string(5000, i % 3 == 0 ? 'C' : 'G'));
    auto plan = device_plan_for(k);
    plan.memory_bytes = std::uint64_t{256} << 20;
    plan.tuning.long_bin_kmers = 60;
    plan.tuning.long_bin_ratio = 0;
    check_same(on_gpu(reads, plan), on_cpu(reads, plan));
    plan.kept.min = 2;
    plan.kept.max = 1000;
    check_same(on_gpu(reads, plan), on_cpu(reads, plan));
  }
}

/// With so little memory that most is spilled: to the host, or with less of that to files, too.
gpu::DeviceCountPlan plan_that_spills(std::uint32_t k, std::uint64_t host_megabytes) {
  auto plan = device_plan_for(k);
  plan.memory_bytes = std::uint64_t{k <= 32 ? 140u : 200u} << 20;
  plan.spill.host_bytes = host_megabytes << 20;
  plan.spill.place.directory = std::filesystem::temp_directory_path();
  return plan;
}

TEST_CASE("what does not fit goes to host memory and to files, and comes back") {
  const auto reads = tests::random_reads(600000, 60000000, 13, 300);
  for (const std::uint32_t k : {13u, 31u, 32u, 55u}) {
    if (!tests::can_count(k)) continue;
    CAPTURE(k);
    auto plan = plan_that_spills(k, 1000);
    const DeviceResult expected = on_cpu(reads, plan);
    const DeviceResult by_host = on_gpu(reads, plan);
    check_same(by_host, expected);
    CHECK(by_host.spilled.to_host > 0);
    CHECK(by_host.spilled.to_file == 0);
    CHECK(by_host.spilled.from_host >= by_host.spilled.to_host);
    plan.spill.host_bytes = 0;
    plan.expected_kmers = 1;  // other bins, and few
    const DeviceResult by_file = on_gpu(reads, plan);
    check_same(by_file, expected);
    CHECK(by_file.spilled.to_file > 0);
    CHECK(by_file.spilled.from_file == by_file.spilled.to_file);
  }
}

TEST_CASE("spilled chunks of more k-mers than were foreseen are counted again, in halves") {
  auto reads = tests::random_reads(500000, 50000000, 16, 300);
  for (const std::uint32_t k : {31u, 33u}) {
    if (!tests::can_count(k)) continue;
    CAPTURE(k);
    reads.push_back(crowd(20000, k, 17));  // a shard that does not fit a chunk either
    auto plan = plan_that_spills(k, 1000);
    plan.tuning.entries_margin = 0.3;
    const DeviceResult spilled = on_gpu(reads, plan);
    check_same(spilled, on_cpu(reads, plan));
    CHECK(spilled.spilled.to_host > 0);
  }
}

TEST_CASE("filters, repeats and early runs, spilled") {
  const auto reads = tests::random_reads(500000, 5000000, 14);
  for (const std::uint32_t k : {21u, 64u}) {
    if (!tests::can_count(k)) continue;
    CAPTURE(k);
    auto plan = plan_that_spills(k, 16);
    plan.kept.min = 2;
    plan.kept.max = 100;
    auto roomy = plan;
    roomy.memory_bytes = std::uint64_t{4} << 30;
    const DeviceResult expected = on_gpu(reads, roomy, 12);
    CHECK(expected.spilled.to_host == 0);
    check_same(on_gpu(reads, plan, 12), expected);
    plan.tuning.counts_early = false;
    const DeviceResult spilled = on_gpu(reads, plan, 12);
    check_same(spilled, expected);
    CHECK(spilled.early_counts == 0);
    CHECK(spilled.spilled.to_file > 0);
  }
}

TEST_CASE("one minimizer with more words than come back at once") {
  for (const std::uint32_t k : {31u, 33u}) {
    if (!tests::can_count(k)) continue;
    CAPTURE(k);
    const std::vector<std::string> reads = {crowd(40000, k, 15)};
    auto plan = plan_that_spills(k, 1000);
    plan.tuning.counts_early = false;
    auto roomy = device_plan_for(k);
    roomy.memory_bytes = std::uint64_t{4} << 30;
    const DeviceResult expected = on_gpu(reads, roomy, 60);
    const DeviceResult spilled = on_gpu(reads, plan, 60);
    check_same(spilled, expected);
    CHECK(spilled.spilled.to_host > 0);
  }
}

TEST_CASE("a directory that takes no files ends a count that needs one") {
  const auto reads = tests::random_reads(600000, 60000000, 13, 300);
  auto plan = plan_that_spills(31, 0);
  plan.spill.place.directory = "/dev/null/nowhere";
  try {
    on_gpu(reads, plan);
    FAIL("must not succeed");
  } catch (const ResourceError& error) {
    CHECK(std::string(error.what()).find("/dev/null/nowhere") != std::string::npos);
  }
}

TEST_CASE("long lists that were counted early") {
  auto reads = tests::random_reads(20000, 100000, 11);
  reads.push_back(crowd(12000, 31, 12));
  auto plan = device_plan_for(31);
  const DeviceResult ample = on_cpu(reads, plan);
  plan.memory_bytes = std::uint64_t{160} << 20;
  plan.tuning.long_bin_kmers = 60;
  plan.tuning.long_bin_ratio = 0;
  check_same(on_gpu(reads, plan), ample);
}

}  // namespace
