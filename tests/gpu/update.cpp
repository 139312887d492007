// The update suite on the CUDA backend, then what is a matter of a GPU's memory.

#include <filesystem>
#include <fstream>

#include "gpu/device.h"
#include "sessions/update_suite.h"

using namespace warpmer;
using namespace warpmer::tests;

namespace {

/// The GPU under test, acting as several.
std::unique_ptr<backend::Backend> updater(std::size_t times = 1) {
  return backend::make_cuda_backend(std::vector<int>(times, gpu_under_test().ordinal));
}
backend::CountPlan updating_plan(std::uint64_t device_memory_bytes = 0) {
  backend::CountPlan plan = plan_for(31);
  plan.memory_bytes = std::uint64_t{8} << 30;
  plan.devices.memory_bytes = device_memory_bytes;
  return plan;
}

/// The index of a few reads, and that of these with others, which nearly all belong to one shard.
struct HotShard {
  const Reads was = simulated_reads(200, 5000, 33), added = hot_reads(60000, 31, 34);
  const TemporaryIndex path, expected_path;

  HotShard() {
    Reads both = was;
    both.insert(both.end(), added.begin(), added.end());
    write_index(path.path(), was, 31);
    write_index(expected_path.path(), both, 31);
  }
};

}  // namespace

TEST_CASE("an updated index is the index of the reads that remain") {
  update_like_count(*updater(), countable({5, 13, 33, 64}), {{4, 1}}, updating_plan(), 8000);
  update_like_count(*updater(), {31}, {{1, 1}, {5, 1}}, updating_plan());
}

TEST_CASE("with a GPU that acts as three") {
  update_like_count(*updater(3), countable({12, 31, 64}), {{2, 3}}, updating_plan(), 8000);
}

TEST_CASE("k-mers that cannot be removed are counted") {
  note_shortfalls(*updater(), countable({5, 12, 15, 31, 64}), updating_plan());
}

TEST_CASE("hashes that crowd, and counts of all widths") {
  update_what_crowds<Key64>(*updater(), 31, updating_plan(), 5000);
  if (can_count(47)) update_what_crowds<Key128>(*updater(), 47, updating_plan(), 2500);
}

TEST_CASE("counts that pass 2^32") { update_beyond_32_bits(*updater(), updating_plan()); }

TEST_CASE("an error of the sink ends an update") { end_update_with_the_sink(*updater(), updating_plan()); }

TEST_CASE("in little device memory, which is kept to, and many frames") {
  const std::uint64_t cap = std::uint64_t{400} << 20;
  // About 7 million k-mers, some 9 MB of index.
  const Reads was = simulated_reads(60000, 3000000, 31, 20), added = simulated_reads(20000, 3000000, 32, 20);
  const TemporaryIndex path, expected_path;
  Reads both = was;
  both.insert(both.end(), added.begin(), added.end());
  write_index(path.path(), was, 31);
  write_index(expected_path.path(), both, 31);
  const index::IndexFile index(path.path()), expected(expected_path.path());
  backend::CountPlan plan = updating_plan(cap);
  plan.threads = 2;
  check_updated(update(*updater(), plan, index, {added, {}, true, false}), expected);
  check_updated(update(*updater(), plan, expected, {{}, added, false, true}), index);
  plan.devices.memory_bytes = std::uint64_t{8} << 20;
  CHECK_THROWS_AS(update(*updater(), plan, index, {added, {}, true, false}), ResourceError);
}

TEST_CASE("a damaged shard ends an update, also one that is read before there is room for it") {
  // About 9 MB of index: more than the ring of a cap has room for, so that threads wait with what they have
  // read.
  const Reads was = simulated_reads(60000, 3000000, 31, 20), added = simulated_reads(100, 3000000, 32);
  const TemporaryIndex path;
  write_index(path.path(), was, 31);
  backend::CountPlan plan = updating_plan(std::uint64_t{400} << 20);
  plan.threads = 8;
  for (const double where : {0.01, 0.3, 0.6, 0.9}) {
    CAPTURE(where);
    const auto flip = [&] {
      std::fstream file(path.path(), std::ios::in | std::ios::out | std::ios::binary);
      const auto at =
          static_cast<std::streamoff>(where * static_cast<double>(std::filesystem::file_size(path.path())));
      file.seekg(at);
      const int byte = file.get();
      file.seekp(at);
      file.put(static_cast<char>(byte ^ 16));
    };
    flip();
    {
      const index::IndexFile index(path.path());
      CHECK_THROWS_WITH_AS(update(*updater(), plan, index, {added, {}, true, false}),
                           doctest::Contains("does not match its checksum"), InputError);
    }
    flip();
  }
  const index::IndexFile index(path.path());
  update(*updater(), plan, index, {added, {}, true, false});
}

TEST_CASE("where memory is too little, what is told of is the update") {
  const TemporaryIndex path;
  const Reads reads = simulated_reads(200, 5000, 35);
  write_index(path.path(), reads, 31);
  const index::IndexFile index(path.path());
  int of_two_counts = 0;
  for (std::uint64_t megabytes = 16; megabytes <= 512; megabytes += 16) {
    try {
      update(*updater(), updating_plan(megabytes << 20), index, {reads, reads, true, true});
    } catch (const ResourceError& error) {
      const std::string what = error.what();
      CHECK_MESSAGE(what.find("updat") != std::string::npos, what);
      of_two_counts += what.starts_with("each of the two counts for an update of " + path.path()) ? 1 : 0;
    }
  }
  CHECK(of_two_counts > 0);
}

TEST_CASE("one shard that gets nearly everything") {
  const HotShard hot;
  const index::IndexFile index(hot.path.path()), expected(hot.expected_path.path());
  const Reads& added = hot.added;
  check_updated(update(*updater(), updating_plan(), index, {added, {}, true, false}), expected);
  check_updated(update(*updater(), updating_plan(), expected, {{}, added, false, true}), index);
  CHECK_THROWS_AS(
      update(*updater(), updating_plan(std::uint64_t{64} << 20), expected, {added, {}, true, false}),
      ResourceError);
}
