#include "tables/table_lists.h"

namespace warpmer::bench {

std::vector<TableEntry> gpu_tables() {
  std::vector<TableEntry> all;
  append(all, kGpuWarpDrive);
  append(all, kGpuBucketedWarpDrive);
  append(all, kGpuBcht);
  append(all, kGpuCuckoo);
  append(all, kGpuIceberg);
  append(all, kGpuSlabPairs);
  append(all, kGpuFullSlabPairs);
  append(all, kGpuSlabKmers);
  append(all, kGpuHashGraphs);
  append(all, kGpuChainedTables);
  return all;
}

std::vector<AllocatorEntry> gpu_allocators() {
  std::vector<AllocatorEntry> all(kGpuAllocators.begin(), kGpuAllocators.end());
  all.insert(all.end(), kGpuMalloc.begin(), kGpuMalloc.end());
  return all;
}

}  // namespace warpmer::bench
