// Several threads check the shards of an index together: each shard once, and none passes that is damaged.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/thread_team.h"
#include "index/early_checks.h"
#include "index/index_file.h"
#include "unit/index/index_file_common.h"

namespace warpmer::index::test {
namespace {

constexpr std::uint32_t kShardBits = 6, kShards = 1u << kShardBits;
constexpr unsigned kThreads = 4;

std::vector<std::uint32_t> numbers(std::uint32_t end) {
  std::vector<std::uint32_t> shards(end);
  std::iota(shards.begin(), shards.end(), 0u);
  return shards;
}

/// Changes a byte of a file, in place.
void bend(const std::string& path, std::uint64_t offset) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(offset));
  const auto byte = static_cast<char>(file.get() ^ 4);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
}

std::uint64_t offset_of(const Sample& sample, std::uint32_t shard) {
  std::uint64_t offset = layout::kHeaderBytes;
  for (std::uint32_t before = 0; before < shard; ++before)
    offset += sample.shards[before].payload.size() * sizeof(std::uint64_t);
  return offset;
}

}  // namespace

TEST_CASE("index checks: what threads have checked together is not checked again, and the rest is") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(11, kShardBits, 200);
  write_sample(sample, scratch / "a.wmi");
  const IndexFile file(scratch / "a.wmi");
  run_team(
      kThreads, [&](unsigned thread) { file.check(numbers(kShards / 2 - thread)); }, [] {});
  const auto is_empty = [&](std::uint32_t shard) { return sample.shards[shard].payload.empty(); };
  for (std::uint32_t shard = 0; shard < kShards; ++shard)
    if (!is_empty(shard)) bend(scratch / "a.wmi", offset_of(sample, shard) + 3);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    CAPTURE(shard);
    if (is_empty(shard)) continue;
    if (shard < kShards / 2) {
      CHECK_NOTHROW((void)file.shard(shard));
    } else {
      CHECK_THROWS_WITH_AS((void)file.shard(shard), doctest::Contains("does not match its checksum"),
                           InputError);
    }
  }
}

TEST_CASE("index checks: all threads are told of the damaged shard, at any time, and of no other") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(11, kShardBits, 200);
  write_sample(sample, scratch / "a.wmi");
  bend(scratch / "a.wmi", offset_of(sample, 9) + 3);
  const IndexFile file(scratch / "a.wmi");
  std::atomic<unsigned> told{0};
  run_team(
      kThreads,
      [&](unsigned) {
        try {
          file.check(numbers(kShards));
        } catch (const InputError& error) {
          if (says(error.what(), "shard 9 (bytes")) ++told;
        }
      },
      [] {});
  CHECK(told == kThreads);
  CHECK_THROWS_WITH_AS(file.check(std::vector<std::uint32_t>{3, 9}), doctest::Contains("shard 9 (bytes"),
                       InputError);
  for (std::uint32_t shard = 0; shard < kShards; ++shard)
    if (shard != 9) CHECK(same_shard(file.shard(shard), sample.shards[shard]));
}

TEST_CASE("index checks: a shard that there is none of is the caller's error") {
  const ScratchFolder scratch;
  write_sample(make_sample(11, 2, 20), scratch / "a.wmi");
  const IndexFile file(scratch / "a.wmi");
  CHECK_THROWS_AS(file.check(std::vector<std::uint32_t>{4}), InternalError);
}

TEST_CASE("index checks: early checks are not done again, and tell nobody of a damaged shard") {
  for (const unsigned threads : {1u, 2u}) {
    CAPTURE(threads);
    const ScratchFolder scratch;
    const Sample sample = make_sample(11, kShardBits, 200);
    write_sample(sample, scratch / "a.wmi");
    bend(scratch / "a.wmi", offset_of(sample, 9) + 3);
    const IndexFile file(scratch / "a.wmi");
    {
      const EarlyChecks checks(file, threads);
      while (!checks.is_over()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    bend(scratch / "a.wmi", offset_of(sample, 3) + 3);
    CHECK_NOTHROW((void)file.shard(3));
    CHECK_THROWS_WITH_AS((void)file.shard(9), doctest::Contains("shard 9 (bytes"), InputError);
    // One stops at the damaged one. Of two, the other may be at the end before the first has told it.
    if (threads > 1) continue;
    bend(scratch / "a.wmi", offset_of(sample, kShards - 1) + 3);
    CHECK_THROWS_AS((void)file.shard(kShards - 1), InputError);
  }
}

TEST_CASE("index checks: a small index is not checked early") {
  const ScratchFolder scratch;
  write_sample(make_sample(11, kShardBits, 200), scratch / "a.wmi");
  CHECK(EarlyChecks::useful_threads(IndexFile(scratch / "a.wmi"), 16) == 0);
}

}  // namespace warpmer::index::test
