// The slab hash and its allocator on CUDA tiles: the suite of tests/tiles.

#include "gpu/device.h"
#include "tiles/slab_suite.h"

using namespace warpmer;

TEST_CASE("the slab hash: all operations, side by side in one launch, on CUDA tiles") {
  for (const auto& on : tests::cuda_slab_tables()) tests::slab_suite(on);
}

TEST_CASE("the slab hash on CUDA tiles: 128-bit keys") {
  if (!tests::can_count(kMaxNarrowK + 1)) {
    MESSAGE("skipped: 128-bit keys need compute capability 9.0");
    return;
  }
  for (const auto& on : tests::cuda_wide_slab_tables()) tests::slab_suite(on);
}

TEST_CASE("SlabAlloc on CUDA tiles: no unit twice, all of them, again after they were freed") {
  for (const auto& on : tests::cuda_allocators()) tests::allocator_suite(on);
}
