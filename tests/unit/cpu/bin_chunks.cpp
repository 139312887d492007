// Keys that several threads put into bins, against lists of each bin.
// ctest: one thread

#include "cpu/memory/bin_chunks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/thread_team.h"

using namespace warpmer;

namespace {

using Chunks = cpu::BinChunks<std::uint64_t>;

/// The keys of each bin, in order.
using Bins = std::vector<std::vector<std::uint64_t>>;

Bins bins_of(const Chunks& chunks, std::uint32_t bins) {
  Bins all(bins);
  for (std::uint32_t bin = 0; bin < bins; ++bin) {
    chunks.visit(bin, [&](const std::uint64_t* keys, std::size_t n) {
      all[bin].insert(all[bin].end(), keys, keys + n);
    });
    CHECK(all[bin].size() == chunks.size(bin));
    std::sort(all[bin].begin(), all[bin].end());
  }
  return all;
}

}  // namespace

TEST_CASE("all keys are in their bins, however they are spread and whoever brings them") {
  constexpr unsigned kThreads = 3;
  for (const std::uint32_t bins : {1u, 7u, 256u}) {
    for (const std::size_t keys : {0u, 1u, 8u, 100u, 5000u, 200000u}) {
      for (const bool all_in_one : {false, true}) {
        CAPTURE(bins);
        CAPTURE(keys);
        CAPTURE(all_in_one);
        Bins expected(bins);
        std::vector<std::vector<std::pair<std::uint32_t, std::uint64_t>>> brought(kThreads);
        std::mt19937_64 random(keys + bins);
        for (std::size_t i = 0; i < keys; ++i) {
          const auto bin = static_cast<std::uint32_t>(all_in_one ? bins / 2 : random() % bins);
          const std::uint64_t key = random();
          expected[bin].push_back(key);
          // One thread brings half of them.
          brought[random() % 2 == 0 ? 0 : random() % kThreads].emplace_back(bin, key);
        }
        for (auto& bin : expected) std::sort(bin.begin(), bin.end());
        Chunks chunks(keys, kThreads, bins);
        for (int round = 0; round < 2; ++round) {  // memory is used again
          chunks.clear();
          run_team(
              kThreads,
              [&](unsigned thread) {
                Chunks::ChunkWriter writer(chunks, thread);
                bool has_room = true;
                for (const auto& [bin, key] : brought[thread]) has_room = writer.put(bin, key) && has_room;
                has_room = writer.flush() && has_room;
                CHECK(has_room);
              },
              [] {});
          CHECK(bins_of(chunks, bins) == expected);
        }
      }
    }
  }
}

TEST_CASE("more keys than were said are refused, not written beyond the end") {
  Chunks chunks(100, 1, 4);
  Chunks::ChunkWriter writer(chunks, 0);
  std::size_t taken = 0;
  while (taken < 100000 && writer.put(static_cast<std::uint32_t>(taken % 4), taken)) ++taken;
  CHECK(taken >= 100);
  CHECK(taken < 1000);
}
