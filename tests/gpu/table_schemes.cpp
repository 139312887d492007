// The table suite on CUDA tiles, in global and in shared memory.

#include "gpu/device.h"
#include "tiles/table_suite.h"

using namespace warpmer;

namespace {

template <class Key>
void on_all_tiles(const tests::SchemesOnTiles<Key>& tiles) {
  for (std::size_t i = 0; i < tiles.size; ++i) {
    tests::whole_suite(tiles.first[i]);
    tests::whole_suite_at_once(tiles.first[i], 400);
  }
}

}  // namespace

TEST_CASE("64-bit keys: every scheme on every CUDA tile") { on_all_tiles(tests::kCudaTiles64); }

TEST_CASE("128-bit keys: every scheme on every CUDA tile") {
  if (!tests::can_count(kMaxNarrowK + 1)) {
    MESSAGE("skipped: 128-bit keys need compute capability 9.0");
    return;
  }
  on_all_tiles(tests::kCudaTiles128);
}
