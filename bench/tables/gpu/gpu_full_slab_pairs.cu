// The slab hash of pairs with SlabAlloc in super blocks.

#include "tables/gpu/gpu_slab_table.cuh"

namespace warpmer::bench {
namespace {

constexpr TableEntry kFullSlabPairsTables[] = {
    entry<SlabPairs, 16, 1, SuperBlocks>("slab-full"),
    entry<SlabPairs, 8, 2, SuperBlocks>("slab-full"),
};

}  // namespace

const TableList kGpuFullSlabPairs = kFullSlabPairsTables;

}  // namespace warpmer::bench
