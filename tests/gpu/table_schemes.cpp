// The table suite on CUDA tiles, in global and in shared memory.

#include <vector>

#include "gpu/device.h"
#include "tiles/table_suite.h"

using namespace warpmer;

namespace {

template <class Key>
using Tiles = std::vector<tests::SchemeOnTile<Key>>;

template <class Key>
Tiles<Key> in_array(const tests::SchemesOnTiles<Key>& tiles) {
  return {tiles.first, tiles.first + tiles.size};
}

template <class Key>
void on_all_tiles(const Tiles<Key>& tiles) {
  for (const auto& on : tiles) {
    tests::whole_suite(on);
    tests::whole_suite_at_once(on, 400);
  }
}

bool can_use_wide_keys() {
  if (tests::can_count(kMaxNarrowK + 1)) return true;
  MESSAGE("skipped: 128-bit keys need compute capability 9.0");
  return false;
}

}  // namespace

TEST_CASE("64-bit keys: WarpDrive on every CUDA tile") {
  on_all_tiles(in_array(tests::kCudaTiles64));
  tests::same_layout_for_all(in_array(tests::kCudaTiles64));
}

TEST_CASE("64-bit keys: schemes with buckets on CUDA tiles") {
  on_all_tiles(in_array(tests::kCudaBuckets64));
}

TEST_CASE("32-bit keys in one word with their counts: every scheme on CUDA tiles") {
  on_all_tiles(in_array(tests::kCudaWordTiles));
  tests::same_layout_for_all(in_array(tests::kCudaWordTiles));
  on_all_tiles(in_array(tests::kCudaWordBuckets));
}

TEST_CASE("128-bit keys: WarpDrive on every CUDA tile") {
  if (!can_use_wide_keys()) return;
  on_all_tiles(in_array(tests::kCudaTiles128));
  tests::same_layout_for_all(in_array(tests::kCudaTiles128));
}

TEST_CASE("128-bit keys: schemes with buckets on CUDA tiles") {
  if (can_use_wide_keys()) on_all_tiles(in_array(tests::kCudaBuckets128));
}
