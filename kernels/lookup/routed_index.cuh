#pragma once
/// An index that several GPUs hold together, each a range of its shards. Every GPU cuts its own texts; their
/// k-mers go to the owners of their shards, and answers come back: multisplit, transposition, look-up,
/// transposition back, original order (Juenger et al. 2018, section IV-B), with a row of the partition table
/// for each text. So no text waits for others. All GPUs send at once, and stages overlap, because several
/// texts are under way.

#include <cstdint>
#include <memory>
#include <vector>

#include "index/index_file.h"
#include "kernels/exchange/transposition.cuh"
#include "kernels/lookup/device_index.cuh"
#include "kernels/upload/frozen_shards.cuh"

namespace warpmer::gpu {

/// The room that texts have.
struct RoutedLookupPlan {
  std::uint32_t slice_starts =
      0;  ///< largest number of starts of k-mers in a text; 0: the memory does not suffice
  std::uint32_t routed_batches = 0;  ///< number of texts of each GPU that are under way at a time
  std::uint64_t bytes = 0;           ///< memory taken on each GPU, shards included
};

/// Returns the plan for so many GPUs, with `memory_bytes` of each. Half of the memory that shards leave is
/// for the callers' lanes. `least_routed_memory` is the least for which there is a plan.
std::uint64_t least_routed_memory(const index::IndexFile& index, std::uint32_t gpus);
RoutedLookupPlan plan_routed_lookup(const index::IndexFile& index, std::uint32_t gpus,
                                    std::uint64_t memory_bytes);

/// Returns, for each GPU, the index that is asked there while that GPU is current. A `look_up` waits for the
/// text to be cut, and returns when all is enqueued. A text has up to the slice's starts, and may lie in the
/// memory of its answers (TextRuns::cut). If a text has more runs than there is room for, answers are
/// kLargeCountAnswer. `payloads` has a part for each GPU, and is of strings (k above kMaxDenseK).
std::vector<std::unique_ptr<DeviceIndex>> route_index(const std::shared_ptr<const FrozenPayloads>& payloads,
                                                      const RoutedLookupPlan& plan,
                                                      Route route = Route::direct);

}  // namespace warpmer::gpu
