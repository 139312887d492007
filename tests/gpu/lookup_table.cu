// Lookup tables on the GPU answer as the index does on the CPU; builds that fail are repeated, and end.

#include "base/error.h"
#include "gpu/device.h"
#include "kernels/lookup/lookup.cuh"
#include "kernels/lookup/lookup_table.cuh"
#include "kernels/memory/device_memory.cuh"
#include "lookups/table_suite.h"

namespace {

using namespace warpmer;
using namespace warpmer::tests;
using backend::LookupTable;
using table::LookupTablePlan;

std::unique_ptr<backend::Lookup> make(const index::IndexFile& index, LookupTable table) {
  return backend::make_cuda_lookup(index, {.table = table}, {{gpu_under_test().ordinal}});
}

TEST_CASE("tables of reads, for any k, on one strand or both") {
  check_reads_of_any_k(make, {1, 5, 12, 13, 15, 31, 32});
  if (can_count(64)) check_reads_of_any_k(make, {33, 49, 64});
}

TEST_CASE("counts that 32 bits do not hold") { check_large_counts(make); }

TEST_CASE("an index of no k-mer, and of one") {
  if (can_count(40)) check_next_to_nothing(make);
}

TEST_CASE("the k-mer whose hash marks empty slots") {
  check_marker<Key64>(make);
  if (can_count(64)) check_marker<Key128>(make);
}

TEST_CASE("tables of wide keys are refused where they cannot be built") {
  if (can_count(64)) return;
  const TemporaryIndex file;
  write_index(file.path(), random_reads(100, 1000, 26), 40);
  const index::IndexFile index(file.path());
  for (const LookupTable table : kBuiltTables) CHECK_THROWS_AS((void)make(index, table), ResourceError);
}

/// Returns the answers to a text of one form of the index on the device.
std::vector<std::uint32_t> answers_of(const gpu::DeviceIndex& index, const std::string& text) {
  const auto bytes = static_cast<std::uint32_t>(text.size());
  const gpu::Stream stream;
  const gpu::DeviceArray<char> on_device(gpu::text_room(bytes));
  const gpu::DeviceArray<std::uint32_t> answers(gpu::tiles_of(bytes) * gpu::kTileStarts);
  const gpu::DeviceArray<gpu::CutStatus> status(1);
  gpu::fill_bytes(on_device.data(), 0, on_device.size(), stream);
  gpu::copy_to_device(on_device.data(), text.data(), bytes, stream);
  gpu::reset_status(status.data(), stream);
  index.look_up(on_device.data(), bytes, bytes, answers.data(), status.data(), stream);
  std::vector<std::uint32_t> result(bytes);
  gpu::copy_to_host(result.data(), answers.data(), bytes, stream);
  stream.wait();
  return result;
}

/// An index of random reads, its forms on the device, and a text to ask them for.
struct Sample {
  Sample(std::size_t genome_length, std::uint32_t k) {
    const Reads reads = random_reads(genome_length / 20, genome_length, 27);
    write_index(file.path(), reads, k);
    index.emplace(file.path());
    for (const auto& read : reads) text += read + "\n";
    for (const auto& read : random_reads(50, genome_length, 28)) text += read + "\n";
    gpu::check(cudaSetDevice(gpu_under_test().ordinal), "choosing a GPU");
    expected = answers_of(*gpu::load_index(*index), text);
  }
  void check(LookupTable table, const LookupTablePlan& plan) const {
    CHECK(answers_of(*gpu::build_lookup_table(*index, table, plan), text) == expected);
  }
  [[nodiscard]] std::string failure(LookupTable table, const LookupTablePlan& plan) const {
    try {
      (void)gpu::build_lookup_table(*index, table, plan);
    } catch (const ResourceError& error) {
      return error.what();
    }
    return "none";
  }
  TemporaryIndex file;
  std::optional<index::IndexFile> index;
  std::string text;
  std::vector<std::uint32_t> expected;
};

TEST_CASE("a build that fails is repeated with another hash function, as often as the plan says") {
  const Sample sample(20000, 21);
  for (const LookupTable table : kBuiltTables) {
    CAPTURE(static_cast<int>(table));
    for (const std::uint32_t discarded : {1u, 3u}) {
      CAPTURE(discarded);
      LookupTablePlan plan;
      plan.attempts = discarded + 1;
      plan.discarded = discarded;
      sample.check(table, plan);
      plan.attempts = discarded;
      CHECK(sample.failure(table, plan).find("found no place; use --table index") != std::string::npos);
    }
    LookupTablePlan too_full;
    too_full.load = 1.3;  // more is left over than the stash takes
    CHECK(sample.failure(table, too_full).find("in 8 builds") != std::string::npos);
  }
}

TEST_CASE("tables without a free slot in their buckets use their stash") {
  const Sample sample(300, 21);
  for (const LookupTable table : kBuiltTables) {
    CAPTURE(static_cast<int>(table));
    LookupTablePlan plan;
    plan.load = static_cast<double>(sample.index->totals().stored_distinct) /
                static_cast<double>(sample.index->totals().stored_distinct - 60);
    sample.check(table, plan);
  }
}

/// The message of the ResourceError of a lookup with so much memory for arrays; empty when there is none.
std::string refusal(const index::IndexFile& index, LookupTable table, std::uint64_t device_bytes) {
  try {
    (void)gpu::make_lookup_within(index, {.table = table}, {gpu_under_test().ordinal},
                                  {device_bytes, device_bytes});
  } catch (const ResourceError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a table that the device memory allowed does not hold is refused, its building included") {
  const TemporaryIndex file;
  write_index(file.path(), random_reads(60000, 2000000, 29), 31);
  const index::IndexFile index(file.path());
  for (const LookupTable table : kBuiltTables) {
    CAPTURE(static_cast<int>(table));
    const gpu::LookupTableBytes bytes = gpu::lookup_table_bytes(index, table);
    const std::uint64_t distinct = index.totals().stored_distinct;
    CHECK(bytes.table > distinct * 13);
    CHECK(bytes.table < distinct * 14 + (1 << 16));
    CHECK(bytes.building > bytes.table + distinct * 5);
    const std::string message = refusal(index, table, bytes.building - 1);
    CHECK(message.find(" by a table needs ") != std::string::npos);
    CHECK(message.find("; raise it, or use --table index") != std::string::npos);
    CHECK(refusal(index, table, bytes.building + (32u << 20)).empty());
  }
}

}  // namespace
