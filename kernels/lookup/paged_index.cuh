#pragma once
/// An index whose shards do not all fit the device: children, each some consecutive shards, take turns there
/// (Starfish: Xiong et al. 2022). They are only read, so nothing is written back.

#include <cstdint>
#include <memory>

#include "backend/paged_lookup_plan.h"
#include "index/index_file.h"
#include "kernels/upload/device_index.cuh"
#include "kernels/upload/file_pages.cuh"
#include "table/child_pager.h"

namespace warpmer::gpu {

class PagedIndex : public DeviceIndex {
 public:
  /// What was moved so far.
  [[nodiscard]] virtual table::PagingCounts counts() const = 0;
};

/// What a plan for an index has to know of the device, when each text that waits takes so much besides, for
/// each start of a k-mer and at all.
backend::PagedLookupCosts paged_costs(const index::IndexFile& index, std::uint32_t bytes_per_start,
                                      std::uint64_t bytes_per_slice);

/// On the current device. `index` must outlive it. Its `look_up` returns when all children have answered; the
/// more callers there are at once, up to the plan's slices, the more each child serves. A text has up to the
/// slice's starts, and may lie in the memory of its answers (TextRuns::cut). Shards are checked when they are
/// first needed, so that InputError may come from `look_up`. `pages`: of the index, shared by those of
/// several devices; or none.
std::unique_ptr<PagedIndex> page_index(const index::IndexFile& index, const backend::PagedLookupPlan& plan,
                                       std::shared_ptr<FilePages> pages);

}  // namespace warpmer::gpu
