#pragma once
/// A hash table on the device that holds all k-mers of an index, for many lookups: a k-mer's hash names its
/// buckets, and there is no need for its minimizer.

#include <cstdint>
#include <memory>

#include "backend/lookup.h"
#include "index/index_file.h"
#include "kernels/upload/device_index.cuh"
#include "table/lookup_table.h"

namespace warpmer::gpu {

/// The device memory that a table takes, and that building it takes: the frozen shards are there, too, until
/// it is built. Both are for `table` bcht or iceberg. No shard is read.
struct LookupTableBytes {
  std::uint64_t table;
  std::uint64_t building;
};
LookupTableBytes lookup_table_bytes(const index::IndexFile& index, backend::LookupTable table,
                                    const table::LookupTablePlan& plan = {});

/// Builds a table on the current device: copies the frozen shards there, inserts their entries, with one hash
/// function after another until all keys have a place, and gives the shards' memory back. `index` need not
/// outlive it. Throws a ResourceError when no build of the plan succeeded, or when this GPU cannot build
/// tables of such keys (keys of 128 bits need compute capability 9.0).
std::unique_ptr<DeviceIndex> build_lookup_table(const index::IndexFile& index, backend::LookupTable table,
                                                const table::LookupTablePlan& plan = {});

/// The two kinds of tables; each has a file of its own.
std::unique_ptr<DeviceIndex> build_bcht(const index::IndexFile& index, const table::LookupTablePlan& plan);
std::unique_ptr<DeviceIndex> build_iceberg(const index::IndexFile& index, const table::LookupTablePlan& plan);

}  // namespace warpmer::gpu
