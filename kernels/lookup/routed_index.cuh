#pragma once
/// An index that several GPUs hold together, each a range of its shards. Every GPU cuts its own texts; the
/// k-mers of each go to their owners and answers come back: multisplit, transposition, look-up, transposition
/// back, original order (Juenger et al. 2018, section IV-B), with a row of the partition table for each text.
/// So nobody waits for others' texts; that all GPUs send at once, and stages overlap, comes of several texts
/// being under way.

#include <cstdint>
#include <memory>
#include <vector>

#include "index/index_file.h"
#include "kernels/exchange/transposition.cuh"
#include "kernels/upload/device_index.cuh"
#include "kernels/upload/frozen_shards.cuh"

namespace warpmer::gpu {

/// How much room texts have.
struct RoutedLookupPlan {
  std::uint32_t slice_starts = 0;  ///< starts of k-mers in a text, at most; 0: the memory does not suffice
  std::uint32_t journeys = 0;      ///< texts of each GPU that are under way at a time
  std::uint64_t bytes = 0;         ///< on each GPU, shards included
};

/// For so many GPUs, `memory_bytes` of each. Half of what shards leave is for the callers' lanes.
/// `least_routed_memory`: the least for which there is a plan.
std::uint64_t least_routed_memory(const index::IndexFile& index, std::uint32_t gpus);
RoutedLookupPlan plan_routed_lookup(const index::IndexFile& index, std::uint32_t gpus,
                                    std::uint64_t memory_bytes);

/// For each GPU, what is asked there, while that GPU is current. A `look_up` returns when all is enqueued; it
/// waits for the text to be cut. A text has up to the slice's starts, and may lie in the memory of its
/// answers (TextRuns::cut). Where a text has more runs than there is room for, answers are kLargeCountAnswer.
/// `payloads` has a part for each GPU.
std::vector<std::unique_ptr<DeviceIndex>> route_index(const index::IndexParams& params,
                                                      std::shared_ptr<const FrozenPayloads> payloads,
                                                      const RoutedLookupPlan& plan,
                                                      Route route = Route::direct);

}  // namespace warpmer::gpu
