#pragma once
/// An index whose shards do not all fit the device: partitions, each some consecutive shards, take turns
/// there (Starfish: Xiong et al. 2022). They are only read, so nothing is written back.

#include <cstdint>
#include <memory>

#include "backend/lookup/paged_lookup_plan.h"
#include "index/index_file.h"
#include "kernels/lookup/device_index.cuh"
#include "kernels/upload/file_pages.cuh"
#include "table/child_pager.h"

namespace warpmer::gpu {

class PagedIndex : public DeviceIndex {
 public:
  /// Returns the numbers of moves so far.
  [[nodiscard]] virtual table::PagingCounts counts() const = 0;
};

/// Returns the costs on the device that a plan for an index has to know, when each text that waits takes so
/// much besides, for each start of a k-mer and for itself.
backend::PagedLookupCosts paged_costs(const index::IndexFile& index, std::uint32_t bytes_per_start,
                                      std::uint64_t bytes_per_slice);

/// Makes a paged index of strings (k above kMaxDenseK) on the current device. `index` must outlive it. Its
/// `look_up` returns when all partitions have answered; the more callers there are at once, up to the plan's
/// slices, the more each partition serves. A text has up to the slice's starts, and may lie in the memory of
/// its answers (TextRuns::cut). Shards are checked when they are first needed, so that `look_up` may throw an
/// InputError. `pages` are those of the index, shared by several devices, or none.
std::unique_ptr<PagedIndex> page_index(const index::IndexFile& index, const backend::PagedLookupPlan& plan,
                                       std::shared_ptr<FilePages> pages);

}  // namespace warpmer::gpu
