// The slab hash of 64-bit keys with counts.

#include "tables/gpu/gpu_slab_table.cuh"

namespace warpmer::bench {
namespace {

constexpr TableEntry kSlabKmersTables[] = {
    entry<SlabKmers, 16, 1, table::ContiguousUnits>("slab64"),
    entry<SlabKmers, 8, 2, table::ContiguousUnits>("slab64"),
};

}  // namespace

const TableList kGpuSlabKmers = kSlabKmersTables;

}  // namespace warpmer::bench
