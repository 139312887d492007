// The suite of live tables on a GPU, and what happens when one is full.

#include <doctest/doctest.h>

#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/thread_team.h"
#include "gpu/device.h"
#include "kmer/alphabet.h"
#include "kmer/hash.h"
#include "live/live_suite.h"

using namespace warpmer;
using namespace warpmer::tests;

namespace {

backend::Devices first_gpu(std::uint64_t bytes = std::uint64_t{3} << 30) {
  backend::Devices devices;
  devices.gpus = {gpu_under_test().ordinal};
  devices.memory_bytes = bytes;
  return devices;
}

constexpr std::uint32_t kSomeK[] = {13, 31, 32, 33, 64};

/// Random reads of 200 bases, which share no k-mers worth mentioning.
io::Batch random_batch(std::size_t reads, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> all;
  for (std::size_t i = 0; i < reads; ++i) {
    std::string read(200, 'A');
    for (char& base : read) base = "ACGT"[random() % 4];
    all.push_back(std::move(read));
  }
  return std::move(batches_of(all, all.size()).front());
}

}  // namespace

TEST_CASE("a live table on a GPU is what has been added and not removed") {
  unsigned seed = 1;
  for (const std::uint32_t k : kSomeK) {
    for (const bool canonical : {true, false}) {
      CAPTURE(k);
      CAPTURE(canonical);
      const backend::LiveTablePlan plan = live_plan(k, canonical);
      const auto table = backend::make_cuda_live_table(plan, first_gpu());
      OracleTable oracle(plan.kmers);
      interleave(*table, oracle, k, 40, ++seed);
    }
  }
}

TEST_CASE("a live table on a GPU begins with an index") {
  const std::string path = (std::filesystem::temp_directory_path() / "gpu_live_table_base.wmi").string();
  unsigned seed = 100;
  for (const std::uint32_t k : kSomeK) {
    CAPTURE(k);
    backend::LiveTablePlan plan = live_plan(k);
    OracleTable before(plan.kmers);
    RandomReads reads(k, ++seed);
    for (int i = 0; i < 10; ++i) before.add(reads.batch(), true);
    write_index_of(before, plan.kmers, path);
    const index::IndexFile base(path);
    plan.base = &base;
    const auto table = backend::make_cuda_live_table(plan, first_gpu());
    OracleTable oracle(plan.kmers, before.counts(), {base.totals().records, base.totals().bases});
    check_same(*table, oracle, 2);
    interleave(*table, oracle, k, 30, seed);
  }
  std::filesystem::remove(path);
}

TEST_CASE("the k-mer whose hash stands for empty slots") {
  // For k = 32 and 64 the hash of one k-mer has all bits set.
  for (const std::uint32_t k : {32u, 64u}) {
    const std::string text = with_key_type(k, [&]<class Key>(Key) {
      const Key kmer = KmerHash<Key>(k).inverse(static_cast<Key>(~Key{0}));
      std::string bases(k, 'A');
      for (std::uint32_t i = 0; i < k; ++i)
        bases[i] = base_char(static_cast<unsigned>(kmer >> (2 * (k - 1 - i))) & 3);
      return bases;
    });
    const backend::LiveTablePlan plan = live_plan(k, false);
    const auto table = backend::make_cuda_live_table(plan, first_gpu());
    OracleTable oracle(plan.kmers);
    const std::vector<std::string> reads(3, text);
    const io::Batch batch = std::move(batches_of(reads, reads.size()).front());
    CHECK(table->add(batch, false) == oracle.add(batch, false));
    check_answers(table->lookup(false), oracle.lookup(false), batch);
    check_same(*table, oracle, 1);
    for (int i = 0; i < 2; ++i) check_removal(table->remove(batch, false), oracle.remove(batch, false));
    check_same(*table, oracle, 1);
  }
}

TEST_CASE("a batch for which there is no room is an error, and nothing of it is there") {
  for (const std::uint32_t k : {31u, 63u}) {
    CAPTURE(k);
    const backend::LiveTablePlan plan = live_plan(k);
    const auto table = backend::make_cuda_live_table(plan, first_gpu(std::uint64_t{1300} << 20));
    std::string what;
    for (std::uint64_t seed = 0; what.empty() && seed < 1000; ++seed) {
      const io::Batch batch = random_batch(2000, seed);
      const index::Totals before = table->tally().totals();
      try {
        table->add(batch, false);
      } catch (const ResourceError& error) {
        what = error.what();
        CHECK(table->tally().totals().counted_kmers == before.counted_kmers);
        CHECK(table->tally().totals().counted_distinct == before.counted_distinct);
        backend::Profile profile;
        table->lookup(false).profile(batch, profile);
        for (const std::uint32_t count : profile.counts) CHECK_UNARY(count <= 1);
      }
    }
    CHECK(what.find("is full") != std::string::npos);
    // What is there can still be asked for, and removed.
    const io::Batch first = random_batch(2000, 0);
    CHECK(table->remove(first, false).shortfall.is_none());
    CHECK(table->add(first, false) > 0);
  }
}

TEST_CASE("a bad character leaves the table as it was") {
  const backend::LiveTablePlan plan = live_plan(31);
  const auto table = backend::make_cuda_live_table(plan, first_gpu());
  std::vector<std::string> reads(10, std::string(100, 'A') + "CGT");
  reads[5][50] = '!';
  const io::Batch batch = std::move(batches_of(reads, reads.size()).front());
  CHECK_THROWS_AS(table->add(batch, false), InputError);
  CHECK_THROWS_AS(table->remove(batch, false), InputError);
  CHECK(table->tally().totals().counted_kmers == 0);
  CHECK(table->add(batch, true) > 0);
}

TEST_CASE("threads add, remove and ask side by side") {
  const backend::LiveTablePlan plan = live_plan(31);
  const auto table = backend::make_cuda_live_table(plan, first_gpu());
  OracleTable oracle(plan.kmers);
  RandomReads reads(31, 7);
  std::vector<io::Batch> batches;
  for (int i = 0; i < 40; ++i) batches.push_back(reads.batch());
  // Added twice, so that at no time one is removed that is not there.
  for (const io::Batch& batch : batches) table->add(batch, true);
  run_team(
      4,
      [&](unsigned thread) {
        backend::Profile profile;
        for (std::size_t i = 0; i < batches.size(); ++i) {
          if (i % 4 == thread) table->add(batches[i], true);
          if ((i + 1) % 4 == thread) CHECK(table->remove(batches[i], true).shortfall.is_none());
          table->lookup(true).profile(batches[(i + thread) % batches.size()], profile);
        }
      },
      [] {});
  for (const io::Batch& batch : batches) oracle.add(batch, true);
  check_same(*table, oracle, 2);
}
