#pragma once
/// All tables that the experiments know, by the files that define them.

#include <vector>

#include "tables/allocator_under_test.h"
#include "tables/table_under_test.h"

namespace warpmer::bench {

extern const TableList kHostWordTables;
extern const TableList kHostSlabTables;
extern const TableList kHostHashGraphs;
extern const TableList kHostChainedTables;

extern const TableList kGpuWarpDrive;
extern const TableList kGpuBucketedWarpDrive;
extern const TableList kGpuBcht;
extern const TableList kGpuCuckoo;
extern const TableList kGpuIceberg;
extern const TableList kGpuSlabPairs;
extern const TableList kGpuFullSlabPairs;
extern const TableList kGpuSlabKmers;
extern const TableList kGpuHashGraphs;
extern const TableList kGpuChainedTables;

extern const AllocatorList kHostAllocators;
extern const AllocatorList kGpuAllocators;
extern const AllocatorList kGpuMalloc;

std::vector<AllocatorEntry> gpu_allocators();
std::vector<TableEntry> host_tables();
std::vector<TableEntry> gpu_tables();

inline void append(std::vector<TableEntry>& all, TableList some) {
  all.insert(all.end(), some.begin(), some.end());
}

}  // namespace warpmer::bench
