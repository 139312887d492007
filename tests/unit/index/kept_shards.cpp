// Finished shards that wait for their places, in memory and in a temporary file.

#include "index/writer/kept_shards.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;
using index::KeptShards;
using index::PreparedShard;
using index::test::says;
using index::test::ScratchFolder;

namespace {

/// Words that tell which shard they are of; every fifth is empty.
PreparedShard make_shard(std::uint32_t shard) {
  PreparedShard prepared;
  prepared.shard = shard;
  prepared.payload.resize(shard % 5 == 0 ? 0 : 10 + shard * 7919 % 3000);
  std::iota(prepared.payload.begin(), prepared.payload.end(), std::uint64_t{shard} << 32);
  prepared.entry.payload_words = prepared.payload.size();
  prepared.entry.checksum = file::checksum(prepared.payload.data(), prepared.bytes());
  return prepared;
}

/// Puts shards [first, end) in any order, by some threads. Returns what they threw.
std::vector<std::string> put_all(KeptShards& kept, std::uint32_t first, std::uint32_t end) {
  std::vector<std::uint32_t> order(end - first);
  std::iota(order.begin(), order.end(), first);
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  constexpr unsigned kThreads = 4;
  std::vector<std::string> errors(kThreads);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      try {
        for (std::size_t i = t; i < order.size(); i += kThreads) kept.put(make_shard(order[i]));
      } catch (const ResourceError& error) {
        errors[t] = error.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return errors;
}

}  // namespace

TEST_CASE("kept shards come back in order, however few fit in memory") {
  const ScratchFolder folder;
  constexpr std::uint32_t kFirst = 100, kEnd = 500;
  std::uint64_t bytes = 0;
  for (std::uint32_t shard = kFirst; shard < kEnd; ++shard) bytes += make_shard(shard).bytes();
  // One byte: each is larger than all that is allowed.
  for (const std::uint64_t most : {std::uint64_t{1}, bytes / 20, 3 * bytes}) {
    KeptShards kept(folder.path(), most);
    CHECK(put_all(kept, kFirst, kEnd) == std::vector<std::string>(4));
    CHECK(folder.files() == 0);
    CHECK((kept.bytes_spilled() == 0) == (most > bytes));
    if (most < bytes) CHECK(kept.bytes_spilled() + most >= bytes);
    std::uint32_t next = kFirst;
    kept.take_all([&](PreparedShard&& prepared) {
      CHECK(prepared.shard == next++);
      CHECK(prepared.payload == make_shard(prepared.shard).payload);
      CHECK(prepared.entry.payload_words == prepared.payload.size());
    });
    CHECK(next == kEnd);
  }
}

TEST_CASE("a shard is kept once") {
  const ScratchFolder folder;
  KeptShards kept(folder.path(), 1);
  kept.put(make_shard(7));
  CHECK_THROWS_AS(kept.put(make_shard(7)), InternalError);
}

TEST_CASE("when the temporary file fails, all threads say why, with its folder") {
  const ScratchFolder folder;
  const std::string missing = folder / "not/there";
  KeptShards kept(missing, 10'000);
  for (const std::string& error : put_all(kept, 0, 400)) CHECK(says(error, missing));
}

TEST_CASE("a shard with a source waits in memory, for its payload is not there") {
  struct Nothing final : index::PayloadSource {
    std::span<const std::uint64_t> next() override { return {}; }
  };
  const ScratchFolder folder;
  KeptShards kept(folder.path(), 1);
  const auto source = std::make_shared<Nothing>();
  for (std::uint32_t shard = 11; shard < 20; ++shard) {
    PreparedShard prepared = make_shard(shard);
    if (shard % 2 == 0) {
      prepared.payload.clear();
      prepared.source = source;
    }
    kept.put(std::move(prepared));
  }
  std::uint32_t next = 11;
  kept.take_all([&](PreparedShard&& prepared) {
    CHECK(prepared.shard == next++);
    CHECK((prepared.source == source) == (prepared.shard % 2 == 0));
  });
  CHECK(next == 20);
}
