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
/// Updates with a resident table.
class ResidentUpdater : public backend::Backend {
 public:
  explicit ResidentUpdater(backend::ResidentTableUse use, std::size_t times = 1)
      : use_(use), gpu_(updater(times)) {}

  [[nodiscard]] std::string describe() const override { return gpu_->describe(); }
  [[nodiscard]] std::unique_ptr<backend::CountingSession> start(const backend::CountPlan& plan) override {
    return gpu_->start(plan);
  }
  [[nodiscard]] std::unique_ptr<backend::UpdatingSession> start_update(
      const backend::UpdatePlan& plan, const index::IndexFile& index) override {
    backend::UpdatePlan live = plan;
    live.resident_table = use_;
    return gpu_->start_update(live, index);
  }

 private:
  const backend::ResidentTableUse use_;
  const std::unique_ptr<backend::Backend> gpu_;
};
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

TEST_CASE("a resident table, to which everything is added") {
  ResidentUpdater live(backend::ResidentTableUse::always);
  update_like_count(live, countable({13, 31, 32, 64}), {{4, 1}}, updating_plan(), 8000);
  note_shortfalls(live, countable({15, 31, 64}), updating_plan());
  update_what_crowds<Key64>(live, 31, updating_plan(), 5000);
  update_what_crowds<Key64>(live, 32, updating_plan(), 5000);
  if (can_count(64)) update_what_crowds<Key128>(live, 64, updating_plan(), 2500);
  update_beyond_32_bits(live, updating_plan());
  end_update_with_the_sink(live, updating_plan());
}

TEST_CASE("a resident table that one shard gets nearly everything of") {
  ResidentUpdater live(backend::ResidentTableUse::always);
  const HotShard hot;
  const index::IndexFile index(hot.path.path()), expected(hot.expected_path.path());
  check_updated(update(live, updating_plan(), index, {hot.added, {}, true, false}), expected);
  // Counting has room, and a part of the table has none for such a shard.
  const backend::CountPlan small = updating_plan(std::uint64_t{512} << 20);
  CHECK_THROWS_WITH_AS(update(live, small, index, {hot_reads(180000, 31, 34), {}, true, false}),
                       doctest::Contains("leave --paged out"), ResourceError);
}

TEST_CASE("a resident table with a shard larger than a chunk") {
  ResidentUpdater live(backend::ResidentTableUse::when_full);
  const Reads was = simulated_reads(200, 5000, 33), rest = simulated_reads(1650000, 9000000, 37, 20),
              hot = hot_reads(rest.size() / 20 + 1, 31, 34);
  const TemporaryIndex path;
  write_index(path.path(), was, 31);
  const index::IndexFile index(path.path());
  backend::CountPlan plan = updating_plan(std::uint64_t{560} << 20);
  plan.threads = 2;
  Reads added;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    added.push_back(rest[i]);
    if (i % 20 == 0) added.push_back(hot[i / 20]);
    // Much and little is pending in the end.
    if (i != 1450000 && i + 1 != rest.size()) continue;
    CAPTURE(i);
    const Updated updated = update(live, plan, index, {added, {}, true, false});
    CHECK(updated.paging.rounds > 0);
    CHECK(
        (updated.payloads == update(*updater(), updating_plan(), index, {added, {}, true, false}).payloads));
  }
}

TEST_CASE("a resident table with a shard that what is pending makes larger than a chunk") {
  ResidentUpdater live(backend::ResidentTableUse::when_full);
  const Reads was = simulated_reads(200, 5000, 33), rest = simulated_reads(1650000, 9000000, 37, 20),
              in_table = hot_reads(55000, 31, 34), in_the_end = hot_reads(55000, 31, 34 + (1u << 20));
  const TemporaryIndex path;
  write_index(path.path(), was, 31);
  const index::IndexFile index(path.path());
  backend::CountPlan plan = updating_plan(std::uint64_t{560} << 20);
  plan.threads = 2;
  // About a quarter of what is pending at most lies between these: of one, more is pending than beside which
  // the shard would fit, and less than makes a round of itself.
  for (const std::size_t n : {1170000u, 1330000u, 1490000u, 1650000u}) {
    CAPTURE(n);
    Reads added = in_table;
    added.insert(added.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(n));
    added.insert(added.end(), in_the_end.begin(), in_the_end.end());
    const Updated updated = update(live, plan, index, {added, {}, true, false});
    CHECK(updated.paging.rounds > 0);
    CHECK(
        (updated.payloads == update(*updater(), updating_plan(), index, {added, {}, true, false}).payloads));
  }
}

TEST_CASE("a resident table whose counts need more than 32 bits in the end") {
  ResidentUpdater live(backend::ResidentTableUse::when_full);
  Reads added = simulated_reads(1000000, 9000000, 37, 20);
  const std::size_t before = added.size();
  backend::CountPlan plan = updating_plan(std::uint64_t{400} << 20);
  plan.threads = 1;  // so that the last reads are the last
  for (const std::size_t n : {2000u, 6000u}) {
    CAPTURE(n);
    const Reads hot = hot_reads(n, 31, 38);
    std::map<Key64, std::uint64_t> counts;
    for (const auto& [text, count] : expected_counts(hot, 31, true)) {
      Key64 kmer{};
      REQUIRE(kmer_from_text(text, kmer));
      counts[kmer] = UINT32_MAX - count;
    }
    const TemporaryIndex path;
    write_index(path.path(), counts, 31);
    const index::IndexFile index(path.path());
    added.resize(before);
    added.insert(added.end(), hot.begin(), hot.end());
    if (counts.size() > 1u << 16) {
      CHECK_THROWS_WITH_AS(update(live, plan, index, {added, {}, true, false}),
                           doctest::Contains("of its counts reach 2^32 - 1; leave --paged out"),
                           ResourceError);
      continue;
    }
    const Updated updated = update(live, plan, index, {added, {}, true, false});
    CHECK(updated.paging.rounds > 0);
    CHECK(updated.totals.largest_count == UINT32_MAX);
    CHECK(
        (updated.payloads == update(*updater(), updating_plan(), index, {added, {}, true, false}).payloads));
  }
}

TEST_CASE("resident tables of a GPU that acts as three") {
  ResidentUpdater live(backend::ResidentTableUse::always, 3);
  update_like_count(live, countable({31, 64}), {{2, 3}}, updating_plan(), 8000);
}

TEST_CASE("a resident table beyond the GPU's memory, that grows while reads come") {
  ResidentUpdater live(backend::ResidentTableUse::when_full);
  for (const std::uint32_t k : countable({21, 47})) {
    CAPTURE(k);
    const Reads was = simulated_reads(60000, 3000000, 36, 20),
                added = simulated_reads(1000000, 9000000, 37, 20);
    const TemporaryIndex path, expected_path;
    Reads both = was;
    both.insert(both.end(), added.begin(), added.end());
    write_index(path.path(), was, k);
    write_index(expected_path.path(), both, k);
    const index::IndexFile index(path.path()), expected(expected_path.path());
    backend::CountPlan plan = updating_plan(std::uint64_t{k == 21 ? 400u : 560u} << 20);
    plan.kmers.k = k;
    plan.threads = 2;
    const Updated updated = update(live, plan, index, {added, {}, true, false});
    check_updated(updated, expected);
    CHECK(updated.paging.rounds > 1);
    CHECK(updated.paging.fetched_bytes > 0);
    CHECK(updated.paging.rebuilds > 0);
    CHECK(updated.device_memory->peak_bytes <= plan.devices.memory_bytes);
    plan.devices.memory_bytes *= 2;
    const Updated rest = update(live, plan, index, {both, was, true, true});
    CHECK((rest.payloads == payloads_of(expected)));
    CHECK(rest.shortfall.is_none());
    plan.memory_bytes = std::uint64_t{250} << 20;
    CHECK_THROWS_AS(update(live, plan, index, {added, {}, true, false}), ResourceError);
  }
}
