#pragma once
/// All tables that the experiments know, by the files that define them.

#include <vector>

#include "tables/table_under_test.h"

namespace warpmer::bench {

extern const TableList kHostWordTables;

extern const TableList kGpuWarpDrive;
extern const TableList kGpuBucketedWarpDrive;
extern const TableList kGpuBcht;
extern const TableList kGpuCuckoo;
extern const TableList kGpuIceberg;

std::vector<TableEntry> host_tables();
std::vector<TableEntry> gpu_tables();

inline void append(std::vector<TableEntry>& all, TableList some) {
  all.insert(all.end(), some.begin(), some.end());
}

}  // namespace warpmer::bench
