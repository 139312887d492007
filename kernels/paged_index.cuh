#pragma once
/// An index whose shards do not all fit the device: children, each some consecutive shards, take turns there
/// (Starfish: Xiong et al. 2022). They are only read, so nothing is written back.

#include <cstdint>
#include <memory>

#include "device_index.cuh"
#include "engine/paged_lookup_plan.h"
#include "index/index_file.h"
#include "table/child_pager.h"

namespace warpmer::gpu {

class PagedIndex : public DeviceIndex {
 public:
  /// What was moved so far.
  [[nodiscard]] virtual table::PagingCounts counts() const = 0;
};

/// What a plan for an index has to know of the device, when texts are slices of Lanes (lookup.cu) that take
/// so much besides.
engine::PagedLookupCosts paged_costs(const index::IndexFile& index, std::uint32_t bytes_per_start,
                                     std::uint64_t bytes_per_slice);

/// On the current device. `index` must outlive it. Its `look_up` returns when all children have been asked,
/// or are going to be, in the order of the stream; the more callers there are at once, the more each child
/// serves. Shards are checked when they are first needed, so that InputError may come from `look_up`.
std::unique_ptr<PagedIndex> page_index(const index::IndexFile& index, const engine::PagedLookupPlan& plan);

}  // namespace warpmer::gpu
