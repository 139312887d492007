// The slab hash of pairs with SlabAlloc-light, by groups of three widths (Ashkiani et al. 2018: a warp, each
// lane of which looks at half a pair).

#include "tables/gpu/gpu_slab_table.cuh"

namespace warpmer::bench {
namespace {

constexpr TableEntry kSlabPairsTables[] = {
    entry<SlabPairs, 16, 1, table::ContiguousUnits>("slab"),
    entry<SlabPairs, 8, 2, table::ContiguousUnits>("slab"),
    entry<SlabPairs, 4, 4, table::ContiguousUnits>("slab"),
};

}  // namespace

const TableList kGpuSlabPairs = kSlabPairsTables;

}  // namespace warpmer::bench
