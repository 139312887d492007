// The suite of live tables on one GPU and on several, and what happens when one is full. Where there is one
// GPU, it stands for several.

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
#include "lookups/lookup_fixture.h"

using namespace warpmer;
using namespace warpmer::tests;

namespace {

/// Returns what there is a table on: the GPU under test, and sets of GPUs, with so many bytes of each.
std::vector<backend::Devices> all_devices(std::uint64_t bytes = std::uint64_t{3} << 30) {
  std::vector<std::vector<int>> sets = sets_of_gpus();
  sets.insert(sets.begin(), {gpu_under_test().ordinal});
  std::vector<backend::Devices> all;
  for (const std::vector<int>& gpus : sets) {
    all.emplace_back();
    all.back().gpus = gpus;
    all.back().memory_bytes = bytes;
  }
  return all;
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

TEST_CASE("a live table on GPUs is what has been added and not removed") {
  unsigned seed = 1;
  for (const backend::Devices& devices : all_devices()) {
    for (const std::uint32_t k : kSomeK) {
      for (const bool canonical : {true, false}) {
        CAPTURE(devices.gpus.size());
        CAPTURE(k);
        CAPTURE(canonical);
        const backend::LiveTablePlan plan = live_plan(k, canonical);
        const auto table = backend::make_cuda_live_table(plan, devices);
        OracleTable oracle(plan.kmers);
        interleave(*table, oracle, k, 40, ++seed);
      }
    }
  }
}

TEST_CASE("a live table on GPUs begins with an index") {
  const std::string path = (std::filesystem::temp_directory_path() / "gpu_live_table_base.wmi").string();
  unsigned seed = 100;
  for (const backend::Devices& devices : all_devices()) {
    for (const std::uint32_t k : kSomeK) {
      CAPTURE(devices.gpus.size());
      CAPTURE(k);
      backend::LiveTablePlan plan = live_plan(k);
      OracleTable before(plan.kmers);
      RandomReads reads(k, ++seed);
      for (int i = 0; i < 10; ++i) before.add(reads.batch(), true);
      write_index_of(before, plan.kmers, path);
      const index::IndexFile base(path);
      plan.base = &base;
      const auto table = backend::make_cuda_live_table(plan, devices);
      OracleTable oracle(plan.kmers, before.counts(), {base.totals().records, base.totals().bases});
      check_same(*table, oracle, 2);
      interleave(*table, oracle, k, 30, seed);
    }
  }
  std::filesystem::remove(path);
}

TEST_CASE("texts with more runs of k-mers than most have, and texts of several slices") {
  const backend::LiveTablePlan plan = live_plan(31);
  std::mt19937_64 random(5);
  const std::vector<std::string> reads = {restless_text(60000, 31), "N", std::string(540000, 'A'),
                                          random_bases(random, 20000)};
  const io::Batch batch = std::move(batches_of(reads, reads.size()).front());
  OracleTable oracle(plan.kmers);
  const std::uint64_t kmers = oracle.add(batch, true);
  backend::Profile expected, is;
  oracle.lookup(true).profile(batch, expected);
  for (const backend::Devices& devices : all_devices()) {
    CAPTURE(devices.gpus.size());
    const auto table = backend::make_cuda_live_table(plan, devices);
    CHECK(table->add(batch, true) == kmers);
    CHECK(table->tally().histogram() == oracle.tally().histogram());  // a count is very large
    CHECK(table->add(batch, true) == kmers);
    check_removal(table->remove(batch, true), {kmers, {}});
    table->lookup(true).profile(batch, is);
    CHECK((is.counts == expected.counts));
    check_removal(table->remove(batch, true), {kmers, {}});
    CHECK(table->tally().totals().counted_kmers == 0);
  }
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
    for (const backend::Devices& devices : all_devices()) {
      CAPTURE(devices.gpus.size());
      const auto table = backend::make_cuda_live_table(plan, devices);
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
}

TEST_CASE("a batch for which there is no room on a GPU is an error, and nothing of it is there on any") {
  for (const backend::Devices& devices : all_devices(std::uint64_t{1500} << 20)) {
    for (const std::uint32_t k : {31u, 63u}) {
      CAPTURE(devices.gpus.size());
      CAPTURE(k);
      const auto table = backend::make_cuda_live_table(live_plan(k), devices);
      std::string what;
      std::uint64_t added = 0;
      for (std::uint64_t seed = 0; what.empty() && seed < 1000; ++seed) {
        const io::Batch batch = random_batch(6000, seed);
        try {
          added += table->add(batch, false);
        } catch (const ResourceError& error) {
          what = error.what();
          const index::Totals totals = table->tally().totals();
          CHECK(totals.counted_kmers == added);
          CHECK(totals.counted_distinct == added);
          backend::Profile profile;
          table->lookup(false).profile(batch, profile);
          for (const std::uint32_t count : profile.counts)
            REQUIRE_UNARY(count == 0 || count == backend::Profile::kNarrowNoKmer);
        }
      }
      CHECK(what.find("is full") != std::string::npos);
      // What is there can still be asked for, and removed.
      const io::Batch first = random_batch(6000, 0);
      CHECK(table->remove(first, false).shortfall.is_none());
      CHECK(table->add(first, false) > 0);
    }
  }
}

TEST_CASE("too little memory for a live table") {
  for (const backend::Devices& devices : all_devices(std::uint64_t{1000} << 20)) {
    try {
      (void)backend::make_cuda_live_table(live_plan(31), devices);
      FAIL_CHECK("it was accepted");
    } catch (const ResourceError& error) {
      const std::string whose =
          devices.gpus.size() == 1 ? " MiB of the GPU's memory" : " MiB of each GPU's memory";
      CHECK(std::string(error.what()).find(whose + ", and 1000 MiB can be had") != std::string::npos);
    }
  }
}

TEST_CASE("a bad character leaves the table as it was") {
  for (const backend::Devices& devices : all_devices()) {
    CAPTURE(devices.gpus.size());
    const auto table = backend::make_cuda_live_table(live_plan(31), devices);
    std::vector<std::string> reads(10, std::string(100, 'A') + "CGT");
    reads[5][50] = '!';
    const io::Batch batch = std::move(batches_of(reads, reads.size()).front());
    CHECK_THROWS_AS(table->add(batch, false), InputError);
    CHECK_THROWS_AS(table->remove(batch, false), InputError);
    backend::Profile profile;
    CHECK_THROWS_AS(table->lookup(false).profile(batch, profile), InputError);
    CHECK(table->tally().totals().counted_kmers == 0);
    CHECK(table->add(batch, true) > 0);
  }
}

TEST_CASE("threads add, remove and ask side by side") {
  for (const backend::Devices& devices : all_devices()) {
    CAPTURE(devices.gpus.size());
    const backend::LiveTablePlan plan = live_plan(31);
    const auto table = backend::make_cuda_live_table(plan, devices);
    OracleTable oracle(plan.kmers);
    RandomReads reads(31, 7);
    std::vector<io::Batch> batches;
    for (int i = 0; i < 40; ++i) batches.push_back(reads.batch());
    // Added twice, so that at no time one is removed that is not there.
    for (const io::Batch& batch : batches) table->add(batch, true);
    run_team(
        8,
        [&](unsigned thread) {
          backend::Profile profile;
          for (std::size_t i = 0; i < batches.size(); ++i) {
            if (i % 8 == thread) table->add(batches[i], true);
            if ((i + 1) % 8 == thread) CHECK(table->remove(batches[i], true).shortfall.is_none());
            table->lookup(true).profile(batches[(i + thread) % batches.size()], profile);
          }
        },
        [] {});
    for (const io::Batch& batch : batches) oracle.add(batch, true);
    check_same(*table, oracle, 2);
  }
}
