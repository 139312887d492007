// Counts of a WarpDrive table that are made smaller again, as live tables on GPUs do it.

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "kmer/kmer.h"
#include "table/probing.h"
#include "table/tile.h"
#include "table/warpdrive.h"

using namespace warpmer;

namespace {

using Tile = table::SerialTile<Key64, 4>;
using Probing = table::ScatteredWindows<Tile>;
constexpr std::uint32_t kStarts = 101, kMostWindows = 8;

}  // namespace

TEST_CASE("WarpDrive: what is taken from counts is what was added, and removed keys give their slots") {
  const Probing probing(kStarts, 0, kMostWindows);
  std::vector<Key64> keys(probing.groups() * Tile::kWidth, table::kEmptyKey<Key64>);
  std::vector<std::uint32_t> counts(keys.size());
  const table::WarpDrive<Tile, Probing> table({keys.data(), counts.data()}, probing);
  const Tile tile;
  std::map<Key64, std::uint32_t> expected;
  std::mt19937_64 random(3);
  for (int step = 0; step < 20000; ++step) {
    const Key64 key = random() % 300 * 0x9E3779B97F4A7C15u;
    const auto n = static_cast<std::uint32_t>(1 + random() % 5);
    if (random() % 2 == 0) {
      const table::TakenSlot taken = table.take(tile, key);
      REQUIRE(taken.slot >= 0);
      counts[static_cast<std::size_t>(taken.slot)] += n;
      expected[key] += n;
    } else {
      const bool is_there = expected[key] >= n;
      CHECK(table.subtract(tile, key, n) == is_there);
      if (is_there) expected[key] -= n;
    }
    CHECK(table.find_with_count(tile, key).count == expected[key]);
    if (step % 1000 != 0) continue;
    for (const auto& [removed, count] : expected) {
      if (count == 0) table.erase(tile, removed);
    }
  }
  for (const auto& [key, count] : expected) CHECK(table.find_with_count(tile, key).count == count);
}
