// The suite of live tables on CPUs.
// ctest: long; ctest: one thread

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "live/live_suite.h"
#include "random_text.h"
#include "refusal.h"
#include "scratch_folder.h"
#include "tier.h"

using namespace warpmer;
using namespace warpmer::tests;

namespace {

using backend::LiveScheme;

/// Changed k-mers that a shard is folded at: at once, some time, never.
const std::vector<std::size_t> kFoldKmers = {1, 30, 1000000};
const std::vector<LiveScheme> kSchemes = {LiveScheme::warpdrive, LiveScheme::slab};

std::vector<std::uint32_t> some_k() {
  return by_tier<std::vector<std::uint32_t>>({5, 13, 21, 31, 32, 33, 47, 64}, {5, 13, 31, 33, 64});
}

/// Returns whether the sample tier leaves a plan out: so that each scheme with each way to fold has one k of
/// each width of keys left.
bool is_left_out(std::size_t nth_k, std::size_t nth_scheme, std::size_t nth_fold, bool canonical) {
  return !is_full_tier() && (nth_k + nth_scheme + nth_fold + (canonical ? 0 : 1)) % 2 != 0;
}

/// Calls `test(plan, seed)` for all k, both schemes and ways to fold; once for k that have neither.
template <class Test>
void for_each_plan(const std::vector<bool>& strands, unsigned& seed, Test&& test) {
  const auto all_k = some_k();
  for (std::size_t nth_k = 0; nth_k < all_k.size(); ++nth_k) {
    const std::uint32_t k = all_k[nth_k];
    for (const bool canonical : strands) {
      for (std::size_t nth = 0; nth < kSchemes.size() * kFoldKmers.size(); ++nth) {
        const std::size_t nth_scheme = nth / kFoldKmers.size(), nth_fold = nth % kFoldKmers.size();
        if (k <= kMaxDenseK ? nth > 0 : is_left_out(nth_k, nth_scheme, nth_fold, canonical)) continue;
        backend::LiveTablePlan plan = live_plan(k, canonical);
        plan.scheme = kSchemes[nth_scheme];
        plan.fold_kmers = kFoldKmers[nth_fold];
        CAPTURE(k);
        CAPTURE(canonical);
        CAPTURE(static_cast<int>(plan.scheme));
        CAPTURE(plan.fold_kmers);
        test(plan, ++seed);
      }
    }
  }
}
/// ... as often as tests of random cases are to run.
template <class Test>
void for_each_plan(const std::vector<bool>& strands, Test&& test) {
  unsigned seed = 0;
  for (unsigned round = 0; round < rounds(); ++round) for_each_plan(strands, seed, test);
}

}  // namespace

TEST_CASE("a live table is what has been added and not removed, whatever is done in between") {
  for_each_plan({true, false}, [](const backend::LiveTablePlan& plan, unsigned seed) {
    const auto table = backend::make_cpu_live_table(plan);
    OracleTable oracle(plan.kmers);
    interleave(*table, oracle, plan.kmers.k, by_tier(25, 15), seed);
  });
}

TEST_CASE("a live table begins with an index") {
  const TemporaryIndex file;
  for_each_plan({true}, [&](backend::LiveTablePlan plan, unsigned seed) {
    OracleTable before(plan.kmers);
    RandomReads reads(plan.kmers.k, seed);
    for (int i = 0; i < 10; ++i) before.add(reads.batch(), true);
    write_index_of(before, plan.kmers, file.path());
    const index::IndexFile base(file.path());
    plan.base = &base;
    const auto table = backend::make_cpu_live_table(plan);
    OracleTable oracle(plan.kmers, before.counts(), {base.totals().records, base.totals().bases});
    check_same(*table, oracle, 2);
    interleave(*table, oracle, plan.kmers.k, by_tier(15, 10), seed);
  });
}

TEST_CASE("counts of more than 32 bits are exact") {
  const TemporaryIndex file;
  const std::uint64_t two_31 = std::uint64_t{1} << 31, two_32 = std::uint64_t{1} << 32;
  for_each_plan({true}, [&](backend::LiveTablePlan plan, unsigned seed) {
    RandomReads reads(plan.kmers.k, seed);
    OracleTable small(plan.kmers);
    for (int i = 0; i < 6; ++i) small.add(reads.batch(), true);
    OracleTable::Counts counts = small.counts();
    for (auto& [kmer, count] : counts) {
      const std::uint64_t near[] = {1, two_31, two_32 - 2, two_32, 2 * two_32, std::uint64_t{1} << 50};
      count = near[reads.below(std::size(near))] + reads.below(5);
    }
    OracleTable oracle(plan.kmers, counts, {1, 0});
    write_index_of(oracle, plan.kmers, file.path());
    const index::IndexFile base(file.path());
    plan.base = &base;
    const auto table = backend::make_cpu_live_table(plan);
    interleave(*table, oracle, plan.kmers.k, by_tier(15, 10), seed);
  });
}

TEST_CASE("an index with counts beyond what a live table can hold is refused") {
  const TemporaryIndex file;
  backend::LiveTablePlan plan = live_plan(31);
  OracleTable oracle(plan.kmers, {{std::string(31, 'A'), std::uint64_t{1} << 62}});
  write_index_of(oracle, plan.kmers, file.path());
  const index::IndexFile base(file.path());
  plan.base = &base;
  CHECK_THROWS_AS(backend::make_cpu_live_table(plan), InputError);
}

TEST_CASE("of a batch with a character that is no nucleotide code nothing is added, removed or answered") {
  for (const std::uint32_t k : {5u, 31u, 64u}) {
    const backend::LiveTablePlan plan = live_plan(k);
    const auto table = backend::make_cpu_live_table(plan);
    OracleTable oracle(plan.kmers);
    RandomReads reads(k, k);
    const io::Batch good = reads.batch();
    table->add(good, false);
    oracle.add(good, false);
    // Far behind what fits a cutter's list.
    const std::vector<std::string> texts(2500, reads.text());
    std::vector<std::string> with_bad = texts;
    with_bad.back()[100] = '!';
    const io::Batch bad = std::move(batches_of(with_bad, with_bad.size()).front());
    const auto named = [&](const std::string& text) { return text.find("'!'") != std::string::npos; };
    CHECK(named(refusal<Error>([&] { table->add(bad, false); })));
    CHECK(named(refusal<Error>([&] { table->remove(bad, false); })));
    backend::Profile profile;
    CHECK(named(refusal<Error>([&] { table->lookup(false).profile(bad, profile); })));
    check_same(*table, oracle, 2);
    // What comes next is not mixed up with it.
    check_answers(table->lookup(false), oracle.lookup(false), good);
    CHECK(table->add(bad, true) == oracle.add(bad, true));
    check_removal(table->remove(bad, true), oracle.remove(bad, true));
    check_same(*table, oracle, 2);
  }
}

TEST_CASE("what is no k-mer is not asked for") {
  for (const std::uint32_t k : {5u, 31u}) {
    const auto table = backend::make_cpu_live_table(live_plan(k));
    for (const std::string& text : {std::string(k - 1, 'A'), std::string(k + 1, 'A'), std::string(k, 'N')})
      CHECK_THROWS_AS(static_cast<void>(table->lookup(false).find(text)), UsageError);
    CHECK(table->lookup(false).find(std::string(k, 'a')) == 0);
  }
}

TEST_CASE("what is removed and not there is told, and counts end at 0") {
  for (const std::uint32_t k : {5u, 31u, 64u}) {
    const auto table = backend::make_cpu_live_table(live_plan(k));
    const std::string a(k, 'A');
    std::string c = a;
    c.back() = 'C';
    const auto batch = [](const std::vector<std::string>& texts) {
      return std::move(batches_of(texts, texts.size()).front());
    };
    CHECK(table->add(batch({a, a, c}), false) == 3);
    const backend::Removal removal = table->remove(batch({a, a, a, a, a, c}), false);
    CHECK(removal.kmers == 6);
    CHECK(removal.shortfall.absent_kmers == 0);
    CHECK(removal.shortfall.short_kmers == 1);
    CHECK(removal.shortfall.short_occurrences == 3);
    CHECK(table->lookup(false).find(a) == 0);
    const backend::Removal again = table->remove(batch({a, c, c}), false);
    CHECK(again.shortfall.absent_kmers == 2);
    CHECK(again.shortfall.absent_occurrences == 3);
    CHECK(again.shortfall.short_kmers == 0);
    CHECK(freeze(*table, 2).totals.counted_distinct == 0);
    CHECK(table->totals().records == 0);
    table->add(batch({c}), false);
    CHECK(table->lookup(false).find(c) == 1);
  }
}

TEST_CASE("pieces of one record are a record, and their overlap is not counted twice") {
  for (const std::uint32_t k : {5u, 31u}) {
    const auto table = backend::make_cpu_live_table(live_plan(k));
    io::Batch batch =
        std::move(batches_of({std::string(200, 'A'), std::string(100 + k - 1, 'A'), ""}, 3).front());
    batch.pieces[0].last = false;
    batch.pieces[1].first_base = 200 - (k - 1);
    CHECK(table->add(batch, false) == 300 - k + 1);
    CHECK(table->totals().records == 2);
    CHECK(table->totals().bases == 300);
    table->remove(batch, false);
    CHECK(table->totals().records == 0);
    CHECK(table->totals().bases == 0);
  }
}

TEST_CASE("the cap on memory is kept, and a batch for which there is no room is not there at all") {
  for (const LiveScheme scheme : by_tier<std::vector<LiveScheme>>(kSchemes, {LiveScheme::warpdrive})) {
    backend::LiveTablePlan plan = live_plan(31);
    plan.scheme = scheme;
    plan.threads = 1;
    plan.fold_kmers = 1000000;  // never but for want of memory
    plan.memory_bytes = by_tier(std::uint64_t{24}, std::uint64_t{16}) << 20;
    const auto table = backend::make_cpu_live_table(plan);
    std::mt19937_64 random(7);
    std::string message;
    std::uint64_t kmers = 0;
    std::string last;
    while (message.empty()) {
      const std::string text = random_text(random, 200000);
      const io::Batch batch = std::move(batches_of({text}, 1).front());
      message = refusal<Error>([&] { kmers += table->add(batch, false); });
      if (message.empty()) last = text;
      CHECK(table->memory_bytes() <= plan.memory_bytes);
      if (!message.empty()) CHECK(table->lookup(false).find(text.substr(1000, 31)) == 0);
    }
    CHECK(message.find("has no room for more k-mers; raise -m") != std::string::npos);
    // More than tables alone could hold.
    CHECK(kmers > plan.memory_bytes / 12);
    CHECK(table->totals().bases == kmers + 30 * table->totals().records);
    CHECK(table->lookup(false).find(last.substr(1000, 31)) == 1);
    const backend::Tally tally = table->tally();
    CHECK(tally.totals().counted_kmers == kmers);
    CHECK(freeze(*table, 1).totals.counted_kmers == kmers);
    CHECK(table->memory_bytes() <= plan.memory_bytes);
  }
}

TEST_CASE("the same reads are added again and again in memory that has no room for all of them") {
  for (const std::uint32_t k : {31u, 64u}) {
    backend::LiveTablePlan plan = live_plan(k);
    plan.threads = 1;
    plan.fold_kmers = 1000000;  // never but for want of memory
    plan.memory_bytes = std::uint64_t{24} << 20;
    const auto table = backend::make_cpu_live_table(plan);
    std::mt19937_64 random(k);
    const std::string text = random_text(random, 400000), other = random_text(random, 1000);
    const io::Batch batch = std::move(batches_of({text}, 1).front());
    const int times = by_tier(100, 60);
    for (int i = 0; i < times; ++i) {
      table->add(batch, false);
      CHECK(table->memory_bytes() <= plan.memory_bytes);
      // Some shards are asked in between, and so have changes besides.
      if (i % 7 == 0) CHECK(table->lookup(false).find(text.substr(100 * i, k)) == i + 1u);
    }
    CHECK(table->lookup(false).find(text.substr(200000, k)) == static_cast<unsigned>(times));
    CHECK(table->lookup(false).find(other.substr(0, k)) == 0);
    CHECK(table->remove(batch, false).shortfall.is_none());
    const index::Totals totals = freeze(*table, 1).totals;
    CHECK(totals.counted_distinct == 400001 - k);
    CHECK(totals.counted_kmers == static_cast<std::uint64_t>(times - 1) * (400001 - k));
    CHECK(table->memory_bytes() <= plan.memory_bytes);
  }
}

TEST_CASE("k-mers that come very often in one batch") {
  for (const std::uint32_t k : {5u, 31u, 64u}) {
    backend::LiveTablePlan plan = live_plan(k);
    plan.fold_kmers = 1;
    const auto table = backend::make_cpu_live_table(plan);
    OracleTable oracle(plan.kmers);
    std::mt19937_64 random(k);
    const std::vector<std::string> often = {std::string(20000, 'A'), random_text(random, 300)};
    const std::vector<std::string> less = {std::string(9000, 'T'), random_text(random, 300)};
    for (const auto& texts : {often, less, often}) {
      const io::Batch batch = std::move(batches_of(texts, texts.size()).front());
      CHECK(table->add(batch, false) == oracle.add(batch, false));
      check_answers(table->lookup(false), oracle.lookup(false), batch);
    }
    for (const auto& texts : {less, often, often, often}) {
      const io::Batch batch = std::move(batches_of(texts, texts.size()).front());
      check_removal(table->remove(batch, false), oracle.remove(batch, false));
      check_answers(table->lookup(false), oracle.lookup(false), batch);
    }
    check_same(*table, oracle, 2);
  }
}

TEST_CASE("memory for a batch with very many k-mers of one shard is within the cap, and is given back") {
  for (const std::uint32_t k : {31u, 64u}) {
    CAPTURE(k);
    backend::LiveTablePlan plan = live_plan(k);
    plan.threads = 1;
    plan.memory_bytes = std::uint64_t{24} << 20;
    const io::Batch many = std::move(batches_of({std::string(std::size_t{2} << 20, 'A')}, 1).front());
    std::mt19937_64 random(k);
    const io::Batch few = std::move(batches_of({random_text(random, 1000)}, 1).front());
    const auto small = backend::make_cpu_live_table(plan);
    CHECK(refusal<Error>([&] { small->add(many, false); }).find("has no room") != std::string::npos);
    CHECK(small->add(few, false) == 1001 - k);
    plan.memory_bytes = std::uint64_t{512} << 20;
    const auto large = backend::make_cpu_live_table(plan);
    large->add(few, false);
    const std::uint64_t before = large->memory_bytes();
    large->add(many, false);
    CHECK(large->remove(many, false).shortfall.is_none());
    CHECK(large->memory_bytes() <= before + plan.memory_bytes / 8);
  }
}

TEST_CASE("a cap that is too small for an empty table is refused") {
  for (const std::uint32_t k : {12u, 31u}) {
    backend::LiveTablePlan plan = live_plan(k);
    plan.memory_bytes = 1 << 20;
    CHECK_THROWS_AS(backend::make_cpu_live_table(plan), ResourceError);
  }
}

TEST_CASE("a damaged shard of the base ends what needs it, and nothing is changed") {
  const TemporaryIndex file;
  backend::LiveTablePlan plan = live_plan(31);
  plan.fold_kmers = 1;
  OracleTable before(plan.kmers);
  RandomReads reads(31, 3);
  const io::Batch batch = reads.batch();
  before.add(batch, true);
  write_index_of(before, plan.kmers, file.path());
  {
    const index::IndexFile sound(file.path());
    std::uint32_t shard = 0;
    while (sound.kmers(shard) == 0) ++shard;
    const auto* first = reinterpret_cast<const char*>(sound.all_payloads());
    const auto offset = reinterpret_cast<const char*>(sound.payload(shard)) - first;
    // Payloads begin somewhere in the file: found by what they are.
    std::string all = read_bytes(file.path());
    const std::size_t at = all.find(std::string(first + offset, 8));
    REQUIRE(at != std::string::npos);
    all[at] = static_cast<char>(all[at] ^ 1);
    write_bytes(file.path(), all);
  }
  const index::IndexFile base(file.path());
  plan.base = &base;
  const auto table = backend::make_cpu_live_table(plan);
  CHECK_THROWS_AS(table->remove(batch, true), InputError);
  backend::Profile profile;
  CHECK_THROWS_AS(table->lookup(true).profile(batch, profile), InputError);
  CHECK_THROWS_AS(static_cast<void>(table->tally()), InputError);
  CHECK(table->totals().records == base.totals().records);
}
