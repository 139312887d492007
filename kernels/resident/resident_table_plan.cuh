#pragma once
/// The memory that a resident table (kernels/resident/resident_table.cuh) may hold.

#include <cstdint>

#include "index/index_file.h"
#include "kernels/count/bin_counting.cuh"
#include "kernels/count/counted.cuh"
#include "table/paged_table.h"

namespace warpmer::gpu {

/// The largest number of counts whose rest may lie beside a resident table.
inline constexpr std::uint32_t kMostBeside = kMostBigCounts;

struct ResidentTablePlan {
  table::PagedTablePlan table;
  std::uint64_t counted = 0;       ///< k-mers that are counted, or come from the index, at once
  std::uint64_t most_counted = 0;  ///< the same if one shard has more
  std::uint64_t ring_words = 0;    ///< words of the index on their way to the device
  unsigned uploaders = 1;          ///< threads that copy them
};

/// Returns the plan for the shards of an index that bins belong to; it keeps to so many bytes of a GPU and
/// of the host. Throws a ResourceError when that is too little.
ResidentTablePlan plan_resident_table(const index::IndexFile& index, const BinRange& bins,
                                      std::uint64_t device_bytes, std::uint64_t host_bytes);

}  // namespace warpmer::gpu
