// Lookup tables on the CPU answer as the index does; builds that fail are repeated, and end.

#include "cpu/lookup/lookup_table.h"

#include "base/error.h"
#include "lookups/table_suite.h"
#include "tier.h"

namespace {

using namespace warpmer;
using namespace warpmer::tests;
using backend::LookupTable;
using table::BchtLookup;
using table::IcebergLookup;
using table::LookupTablePlan;

std::unique_ptr<backend::Lookup> make(const index::IndexFile& index, LookupTable table) {
  return backend::make_cpu_lookup(index, {.table = table, .threads = 3});
}

TEST_CASE("tables of reads, for any k, on one strand or both") {
  check_reads_of_any_k(make, by_tier<std::vector<std::uint32_t>>({1, 12, 15, 31, 32, 33, 64}, {12, 31, 33}));
}

TEST_CASE("counts that 32 bits do not hold") { check_large_counts(make); }

TEST_CASE("an index of no k-mer, and of one") { check_next_to_nothing(make); }

TEST_CASE("the k-mer whose hash marks empty slots") {
  check_marker<Key64>(make);
  check_marker<Key128>(make);
}

/// An index of random reads, with all its entries.
struct Sample {
  Sample(std::size_t genome_length, std::uint32_t k) {
    write_index(file.path(), random_reads(genome_length / 20, genome_length, 25), k);
    index.emplace(file.path());
  }
  TemporaryIndex file;
  std::optional<index::IndexFile> index;
};

template <template <class> class LookupOf>
void check_plan(const Sample& sample, const LookupTablePlan& plan) {
  const cpu::HostLookupTable<LookupOf, Key64> table(*sample.index, 2, plan);
  std::uint64_t entries = 0, wrong = 0;
  const std::uint32_t k = sample.index->params().k;
  for (std::uint32_t s = 0; s < sample.index->params().shards(); ++s) {
    const index::ShardReader<Key64> reader(sample.index->shard(s), k);
    reader.for_each([&](Key64 hash, std::uint64_t count) {
      ++entries;
      std::uint64_t found = 0;
      table.find(&hash, 1, &found);
      wrong += found == count ? 0 : 1;
    });
  }
  CHECK(entries == sample.index->totals().stored_distinct);
  CHECK(wrong == 0);
}

template <template <class> class LookupOf>
std::string failure_of(const Sample& sample, const LookupTablePlan& plan) {
  try {
    const cpu::HostLookupTable<LookupOf, Key64> table(*sample.index, 2, plan);
  } catch (const ResourceError& error) {
    return error.what();
  }
  return "none";
}

TEST_CASE("a build that fails is repeated with another hash function, as often as the plan says") {
  const Sample sample(20000, 21);
  for (const std::uint32_t discarded : {1u, 3u}) {
    CAPTURE(discarded);
    LookupTablePlan plan;
    plan.attempts = discarded + 1;
    plan.discarded = discarded;
    check_plan<BchtLookup>(sample, plan);
    check_plan<IcebergLookup>(sample, plan);
    plan.attempts = discarded;
    CHECK(failure_of<BchtLookup>(sample, plan).find("found no place; use --table index") !=
          std::string::npos);
  }
  LookupTablePlan too_full;
  too_full.load = 100;  // more than the stash takes
  CHECK(failure_of<BchtLookup>(sample, too_full).find("in 8 builds") != std::string::npos);
  CHECK(failure_of<IcebergLookup>(sample, too_full).find("in 8 builds") != std::string::npos);
}

TEST_CASE("tables without a free slot in their buckets use their stash") {
  const Sample sample(4000, 21);
  LookupTablePlan plan;
  plan.load = 1.5;
  check_plan<BchtLookup>(sample, plan);
  check_plan<IcebergLookup>(sample, plan);
}

TEST_CASE("names of tables, and when a GPU builds one unasked") {
  CHECK(backend::lookup_table_of("auto") == LookupTable::automatic);
  CHECK(backend::lookup_table_of("index") == LookupTable::index);
  CHECK(backend::lookup_table_of("bcht") == LookupTable::bcht);
  CHECK(backend::lookup_table_of("iceberg") == LookupTable::iceberg);
  CHECK_THROWS_AS((void)backend::lookup_table_of("slab"), UsageError);
  CHECK_THROWS_AS((void)backend::lookup_table_of(""), UsageError);
  CHECK(backend::choose_lookup_table(1000, 0) == LookupTable::index);
  CHECK(backend::choose_lookup_table(1000, 1000) == LookupTable::index);
  CHECK(backend::choose_lookup_table(1000, 1000000) == LookupTable::bcht);
}

}  // namespace
