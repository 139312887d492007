// The suite of live tables on one GPU and on several, and what happens when one is full. Where there is one
// GPU, it stands for several.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/thread_team.h"
#include "base/warning.h"
#include "gpu/device.h"
#include "kmer/alphabet.h"
#include "kmer/hash.h"
#include "live/live_suite.h"
#include "lookups/lookup_fixture.h"
#include "random_text.h"
#include "table/tile.h"

using namespace warpmer;
using namespace warpmer::tests;

namespace {

constexpr std::uint64_t kBytesOfGpu = std::uint64_t{3} << 30;

using Schemes = std::vector<backend::LiveScheme>;
const Schemes kInMemory = {backend::LiveScheme::warpdrive, backend::LiveScheme::slab};
const Schemes kAutomatic = {backend::LiveScheme::automatic};
const Schemes kPaged = {backend::LiveScheme::starfish};
const Schemes kAll = {backend::LiveScheme::warpdrive, backend::LiveScheme::slab,
                      backend::LiveScheme::starfish};

/// Calls `test(plan, devices)` for each hash table on the GPU under test, and on sets of GPUs, with so many
/// bytes of each.
template <class Test>
void on_all(const backend::LiveTablePlan& plan, Test&& test, std::uint64_t bytes = kBytesOfGpu,
            const Schemes& schemes = kAll) {
  std::vector<std::vector<int>> sets = sets_of_gpus();
  sets.insert(sets.begin(), {gpu_under_test().ordinal});
  for (const std::vector<int>& gpus : sets) {
    for (const backend::LiveScheme scheme : schemes) {
      backend::Devices devices;
      devices.gpus = gpus;
      devices.memory_bytes = bytes;
      backend::LiveTablePlan of_scheme = plan;
      of_scheme.scheme = scheme;
      CAPTURE(gpus.size());
      CAPTURE(static_cast<int>(scheme));
      test(of_scheme, devices);
    }
  }
}

constexpr std::uint32_t kSomeK[] = {13, 31, 32, 33, 64};

/// Random reads of 200 bases, which share no k-mers worth mentioning.
io::Batch random_batch(std::size_t reads, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> all;
  for (std::size_t i = 0; i < reads; ++i) all.push_back(random_text(random, 200));
  return std::move(batches_of(all, all.size()).front());
}

/// Returns the counts of all k-mers of a batch.
std::vector<std::uint32_t> counts_of(const backend::LiveTable& table, const io::Batch& batch) {
  backend::Profile profile;
  table.lookup(false).profile(batch, profile);
  return std::move(profile.counts);
}

}  // namespace

TEST_CASE("a live table on GPUs is what has been added and not removed") {
  unsigned seed = 1;
  for (const std::uint32_t k : kSomeK) {
    for (const bool canonical : {true, false}) {
      CAPTURE(k);
      CAPTURE(canonical);
      on_all(live_plan(k, canonical),
             [&](const backend::LiveTablePlan& plan, const backend::Devices& devices) {
               const auto table = backend::make_cuda_live_table(plan, devices);
               OracleTable oracle(plan.kmers);
               interleave(*table, oracle, k, 40, ++seed);
             });
    }
  }
}

TEST_CASE("a live table on GPUs begins with an index") {
  const std::string path = (std::filesystem::temp_directory_path() / "gpu_live_table_base.wmi").string();
  unsigned seed = 100;
  for (const std::uint32_t k : kSomeK) {
    CAPTURE(k);
    on_all(live_plan(k), [&](backend::LiveTablePlan plan, const backend::Devices& devices) {
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
    });
  }
  std::filesystem::remove(path);
}

TEST_CASE("texts with more runs of k-mers than most have, and texts of several slices") {
  std::mt19937_64 random(5);
  const std::vector<std::string> reads = {restless_text(60000, 31), "N", std::string(540000, 'A'),
                                          random_text(random, 20000)};
  const io::Batch batch = std::move(batches_of(reads, reads.size()).front());
  OracleTable oracle(live_plan(31).kmers);
  const std::uint64_t kmers = oracle.add(batch, true);
  backend::Profile expected, is;
  oracle.lookup(true).profile(batch, expected);
  on_all(live_plan(31), [&](const backend::LiveTablePlan& plan, const backend::Devices& devices) {
    const auto table = backend::make_cuda_live_table(plan, devices);
    CHECK(table->add(batch, true) == kmers);
    CHECK(table->tally().histogram() == oracle.tally().histogram());  // a count is very large
    CHECK(table->add(batch, true) == kmers);
    check_removal(table->remove(batch, true), {kmers, {}});
    table->lookup(true).profile(batch, is);
    CHECK((is.counts == expected.counts));
    check_removal(table->remove(batch, true), {kmers, {}});
    CHECK(table->tally().totals().counted_kmers == 0);
  });
}

TEST_CASE("the k-mers whose hashes no hash table holds") {
  // For k = 32 and 64 the hash of one k-mer has all bits set, and that of another all but the last.
  for (const std::uint32_t k : {32u, 64u}) {
    std::vector<std::string> reads;
    with_key_type(k, [&]<class Key>(Key) {
      for (const Key hash : {table::kEmptyKey<Key>, table::kTombstoneKey<Key>}) {
        const Key kmer = KmerHash<Key>(k).inverse(hash);
        std::string bases(k, 'A');
        for (std::uint32_t i = 0; i < k; ++i)
          bases[i] = base_char(static_cast<unsigned>(kmer >> (2 * (k - 1 - i))) & 3);
        for (std::size_t times = reads.size() + 2; times > 0; --times) reads.push_back(bases);
      }
    });
    const io::Batch batch = std::move(batches_of(reads, reads.size()).front());
    on_all(live_plan(k, false), [&](const backend::LiveTablePlan& plan, const backend::Devices& devices) {
      const auto table = backend::make_cuda_live_table(plan, devices);
      OracleTable oracle(plan.kmers);
      CHECK(table->add(batch, false) == oracle.add(batch, false));
      check_answers(table->lookup(false), oracle.lookup(false), batch);
      check_same(*table, oracle, 1);
      for (int i = 0; i < 2; ++i) check_removal(table->remove(batch, false), oracle.remove(batch, false));
      check_same(*table, oracle, 1);
    });
  }
}

TEST_CASE("a batch for which there is no room on a GPU is an error, and nothing of it is there on any") {
  const auto test = [](const backend::LiveTablePlan& plan, const backend::Devices& devices) {
    const auto table = backend::make_cuda_live_table(plan, devices);
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
    CHECK((what.find("could not take its place: the child tables") != std::string::npos) ==
          (plan.scheme == backend::LiveScheme::automatic));
    // What is there can still be asked for, and removed.
    const io::Batch first = random_batch(6000, 0);
    CHECK(table->remove(first, false).shortfall.is_none());
    CHECK(table->add(first, false) > 0);
  };
  for (const std::uint32_t k : {31u, 63u}) {
    CAPTURE(k);
    on_all(live_plan(k), test, std::uint64_t{1500} << 20, kInMemory);
    backend::LiveTablePlan plan = live_plan(k);
    plan.memory_bytes = std::uint64_t{100} << 20;
    on_all(plan, test, std::uint64_t{1500} << 20, kAutomatic);
    plan.memory_bytes = std::uint64_t{700} << 20;  // for child tables
    on_all(plan, test, std::uint64_t{1} << 30, kPaged);
  }
}

TEST_CASE("k-mers take the room of others that were removed, while questions are answered") {
  const auto test = [](const backend::LiveTablePlan& plan, const backend::Devices& devices) {
    const auto table = backend::make_cuda_live_table(plan, devices);
    std::uint64_t batches = 0;
    try {
      for (; batches < 1000; ++batches) table->add(random_batch(6000, batches), false);
    } catch (const ResourceError&) {
    }
    REQUIRE(batches > 3);
    REQUIRE(batches < 1000);
    // All but the first one give way to others: one less, because by chance a few k-mers more had room.
    const io::Batch first = random_batch(6000, 0);
    backend::Profile expected;
    table->lookup(false).profile(first, expected);
    for (std::uint64_t i = 1; i < batches; ++i)
      REQUIRE(table->remove(random_batch(6000, i), false).shortfall.is_none());
    std::atomic<bool> is_over{false};
    run_team(
        2,
        [&](unsigned thread) {
          if (thread == 0) {
            for (std::uint64_t i = 2; i < batches; ++i) table->add(random_batch(6000, 5000 + i), false);
            is_over = true;
          }
          backend::Profile is;
          do {
            table->lookup(false).profile(first, is);
            REQUIRE_UNARY((is.counts == expected.counts));
          } while (!is_over);
        },
        [&] { is_over = true; });
    backend::Profile gone;
    table->lookup(false).profile(random_batch(6000, 1), gone);
    CHECK(*std::max_element(gone.counts.begin(), gone.counts.end(), [](std::uint32_t a, std::uint32_t b) {
      return (a == backend::Profile::kNarrowNoKmer ? 0 : a) < (b == backend::Profile::kNarrowNoKmer ? 0 : b);
    }) == 0);
    CHECK(table->tally().totals().counted_distinct == table->tally().totals().counted_kmers);
  };
  for (const std::uint32_t k : {31u, 63u}) {
    CAPTURE(k);
    on_all(live_plan(k), test, std::uint64_t{1500} << 20, kInMemory);
    backend::LiveTablePlan plan = live_plan(k);
    plan.memory_bytes = std::uint64_t{700} << 20;
    on_all(plan, test, std::uint64_t{1} << 30, kPaged);
  }
}

TEST_CASE("a live table that is larger than the memory of its GPUs") {
  constexpr std::uint64_t kBatches = 60;
  const auto test = [](const backend::LiveTablePlan& plan, const backend::Devices& devices) {
    const auto table = backend::make_cuda_live_table(plan, devices);
    std::uint64_t kmers = 0;
    for (std::uint64_t seed = 0; seed < kBatches; ++seed)
      kmers += table->add(random_batch(6000, seed), false);
    for (std::uint64_t seed = 0; seed < 20; ++seed) table->add(random_batch(6000, seed), false);
    if (devices.gpus.size() == 1)
      CHECK(table->memory_bytes() > devices.memory_bytes + (std::uint64_t{500} << 20));
    const std::uint64_t each = kmers / kBatches;
    for (std::uint64_t seed = 10; seed < 30; ++seed)
      REQUIRE(table->remove(random_batch(6000, seed), false).shortfall.is_none());
    const auto expected = [](std::uint64_t seed) {
      return seed < 10 ? 2u : seed < 20 || seed >= 30 ? 1u : 0u;
    };
    for (const std::uint64_t seed : {0, 9, 10, 19, 20, 29, 30, 59, 1000}) {
      const std::uint32_t count = seed == 1000 ? 0 : expected(seed);
      for (const std::uint32_t answer : counts_of(*table, random_batch(6000, seed)))
        REQUIRE_UNARY(answer == count || answer == backend::Profile::kNarrowNoKmer);
    }
    // Callers who ask at the same time are answered together.
    run_team(
        8,
        [&](unsigned thread) {
          for (std::uint64_t seed = thread; seed < kBatches; seed += 8) {
            const std::vector<std::uint32_t> counts = counts_of(*table, random_batch(6000, seed));
            REQUIRE(counts.front() == expected(seed));
            REQUIRE(counts.back() == expected(seed));
          }
        },
        [] {});
    const backend::Removal too_many = table->remove(random_batch(6000, 25), false);
    CHECK(too_many.shortfall.absent_kmers == each);
    const index::Histogram histogram = table->tally().histogram();
    CHECK(table->tally().totals().counted_distinct == 50 * each);
    CHECK(table->tally().totals().counted_kmers == 60 * each);
    const Frozen frozen = freeze(*table, 2);
    CHECK(frozen.totals.counted_kmers == 60 * each);
    CHECK(frozen.histogram == histogram);
  };
  for (const std::uint32_t k : {31u, 63u}) {
    CAPTURE(k);
    backend::LiveTablePlan plan = live_plan(k);
    plan.memory_bytes = std::uint64_t{8} << 30;
    on_all(plan, test, std::uint64_t{k == 31 ? 520u : 800u} << 20, kPaged);
  }
}

TEST_CASE("a live table for which GPUs have no room any more goes on as child tables, while it is asked") {
  const auto test = [](const backend::LiveTablePlan& plan, const backend::Devices& devices) {
    std::vector<std::string> warnings;
    std::mutex mutex;
    const WarningHandler before = listen_for_warnings([&](const std::string& message) {
      const std::lock_guard lock(mutex);
      warnings.push_back(message);
    });
    const auto table = backend::make_cuda_live_table(plan, devices);
    CHECK(table->describe().find("take its place when it is full") != std::string::npos);
    const io::Batch first = random_batch(6000, 0);
    std::uint64_t kmers = table->add(first, false);
    // Each GPU has about 30 million slots, or less.
    const std::uint64_t batches = 40 * devices.gpus.size();
    std::atomic<std::uint64_t> next{1}, added{0};
    run_team(
        3,
        [&](unsigned thread) {
          backend::Profile profile;
          for (std::uint64_t seed = next++; seed < batches; seed = next++) {
            if (thread == 0) {
              table->lookup(false).profile(first, profile);
              for (const std::uint32_t count : profile.counts)
                REQUIRE_UNARY(count == 1 || count == backend::Profile::kNarrowNoKmer);
            }
            added += table->add(random_batch(6000, seed), false);
          }
        },
        [&] { next = batches; });
    kmers += added;
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find("the live table was full; it is now child tables") == 0);
    CHECK(table->describe().find("which has no room for a table of all k-mers") != std::string::npos);
    CHECK(table->tally().totals().counted_distinct == kmers);
    CHECK(table->totals().records == 6000 * batches);
    for (const std::uint64_t seed : {std::uint64_t{0}, batches / 2, batches - 1, batches}) {
      for (const std::uint32_t answer : counts_of(*table, random_batch(6000, seed)))
        REQUIRE_UNARY(answer == (seed < batches ? 1u : 0u) || answer == backend::Profile::kNarrowNoKmer);
    }
    REQUIRE(table->remove(first, false).shortfall.is_none());
    const Frozen frozen = freeze(*table, 2);
    CHECK(frozen.totals.counted_kmers == kmers - kmers / batches);
    listen_for_warnings(before);
  };
  for (const std::uint32_t k : {31u, 63u}) {
    CAPTURE(k);
    backend::LiveTablePlan plan = live_plan(k);
    plan.memory_bytes = std::uint64_t{8} << 30;
    on_all(plan, test, std::uint64_t{1500} << 20, kAutomatic);
  }
}

TEST_CASE("a live table that is paged begins with an index that is larger than the memory of its GPUs") {
  const std::string path = (std::filesystem::temp_directory_path() / "gpu_paged_base.wmi").string();
  backend::LiveTablePlan plan = live_plan(31);
  plan.memory_bytes = std::uint64_t{8} << 30;
  OracleTable before(plan.kmers);
  for (std::uint64_t seed = 0; seed < 2; ++seed) before.add(random_batch(6000, seed), true);
  write_index_of(before, plan.kmers, path);
  const index::IndexFile base(path);
  plan.base = &base;
  const auto test = [&](const backend::LiveTablePlan& of_all, const backend::Devices& devices) {
    const auto table = backend::make_cuda_live_table(of_all, devices);
    for (std::uint64_t seed = 1; seed < 4; ++seed) table->add(random_batch(6000, seed), false);
    for (const std::uint64_t seed : {0, 1, 2, 3}) {
      for (const std::uint32_t answer : counts_of(*table, random_batch(6000, seed)))
        REQUIRE_UNARY(answer == (seed == 1 ? 2u : 1u) || answer == backend::Profile::kNarrowNoKmer);
    }
  };
  on_all(plan, test, std::uint64_t{520} << 20, kPaged);
  plan.memory_bytes = std::uint64_t{10} << 20;
  const auto refused = [](const backend::LiveTablePlan& of_all, const backend::Devices& devices) {
    CHECK_THROWS_WITH_AS((void)backend::make_cuda_live_table(of_all, devices),
                         doctest::Contains("of host memory to begin with"), ResourceError);
  };
  on_all(plan, refused, std::uint64_t{520} << 20, kPaged);
  std::filesystem::remove(path);
}

TEST_CASE("a count that would not fit a live table on a GPU") {
  constexpr std::uint64_t kMost = UINT32_MAX - (1u << 24);
  const std::string path = (std::filesystem::temp_directory_path() / "gpu_live_large.wmi").string();
  const std::string kmer = "ACGGTCATTTGCATAAGCCATAGGACTTAAC";
  backend::LiveTablePlan plan = live_plan(31);
  OracleTable before(plan.kmers);
  before.add(batches_of({kmer}, 1).front(), true);
  OracleTable large(plan.kmers, {{before.counts().begin()->first, kMost - 1}}, {1, 31});
  write_index_of(large, plan.kmers, path);
  const index::IndexFile base(path);
  plan.base = &base;
  const auto test = [&](const backend::LiveTablePlan& of_scheme, const backend::Devices& devices) {
    const auto table = backend::make_cuda_live_table(of_scheme, devices);
    const io::Batch once = std::move(batches_of({kmer}, 1).front());
    CHECK(table->add(once, false) == 1);
    CHECK(counts_of(*table, once) == std::vector<std::uint32_t>{kMost});
    CHECK_THROWS_WITH_AS(table->add(once, false), doctest::Contains("cannot count"), ResourceError);
    CHECK(counts_of(*table, once) == std::vector<std::uint32_t>{kMost});
    CHECK(table->remove(once, false).shortfall.is_none());
    CHECK(table->add(once, false) == 1);
    CHECK(table->tally().totals().largest_count == kMost);
  };
  on_all(plan, test);
  std::filesystem::remove(path);
}

TEST_CASE("too little memory for a live table") {
  const auto test = [](const backend::LiveTablePlan& plan, const backend::Devices& devices) {
    try {
      (void)backend::make_cuda_live_table(plan, devices);
      FAIL_CHECK("it was accepted");
    } catch (const ResourceError& error) {
      const std::string whose =
          devices.gpus.size() == 1 ? " MiB of the GPU's memory" : " MiB of each GPU's memory";
      CHECK(std::string(error.what()).find(whose + ", and 1000 MiB can be had") != std::string::npos);
    }
  };
  on_all(live_plan(31), test, std::uint64_t{1000} << 20, kInMemory);
  const auto paged = [](const backend::LiveTablePlan& plan, const backend::Devices& devices) {
    CHECK_THROWS_WITH_AS((void)backend::make_cuda_live_table(plan, devices),
                         doctest::Contains(", and 300 MiB can be had"), ResourceError);
  };
  on_all(live_plan(31), paged, std::uint64_t{300} << 20, kPaged);
  on_all(live_plan(31), paged, std::uint64_t{300} << 20, kAutomatic);
  // That is enough for child tables.
  const auto children = [](const backend::LiveTablePlan& plan, const backend::Devices& devices) {
    const auto table = backend::make_cuda_live_table(plan, devices);
    CHECK(table->describe().find("which has no room for a table of all k-mers") != std::string::npos);
    const io::Batch batch = random_batch(10, 0);
    const std::uint64_t kmers = table->add(batch, false);
    const std::vector<std::uint32_t> counts = counts_of(*table, batch);
    CHECK(kmers == 10 * (200 - plan.kmers.k + 1));
    CHECK(static_cast<std::uint64_t>(std::count(counts.begin(), counts.end(), 1u)) == kmers);
  };
  on_all(live_plan(31), children, std::uint64_t{1000} << 20, kAutomatic);
}

TEST_CASE("a bad character leaves the table as it was") {
  std::vector<std::string> reads(10, std::string(100, 'A') + "CGT");
  reads[5][50] = '!';
  const io::Batch batch = std::move(batches_of(reads, reads.size()).front());
  on_all(live_plan(31), [&](const backend::LiveTablePlan& plan, const backend::Devices& devices) {
    const auto table = backend::make_cuda_live_table(plan, devices);
    CHECK_THROWS_AS(table->add(batch, false), InputError);
    CHECK_THROWS_AS(table->remove(batch, false), InputError);
    backend::Profile profile;
    CHECK_THROWS_AS(table->lookup(false).profile(batch, profile), InputError);
    CHECK(table->tally().totals().counted_kmers == 0);
    CHECK(table->add(batch, true) > 0);
  });
}

TEST_CASE("threads add, remove and ask side by side") {
  on_all(live_plan(31), [](const backend::LiveTablePlan& plan, const backend::Devices& devices) {
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
  });
}
