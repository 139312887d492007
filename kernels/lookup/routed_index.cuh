#pragma once
/// An index that several GPUs hold together, each a range of its shards; texts are routed to them
/// (kernels/lookup/routed_batch.cuh).

#include <cstdint>
#include <memory>
#include <vector>

#include "index/index_file.h"
#include "kernels/exchange/transposition.cuh"
#include "kernels/lookup/device_index.cuh"
#include "kernels/upload/frozen_shards.cuh"

namespace warpmer::gpu {

/// The largest number of starts that a plan gives a text.
inline constexpr std::uint32_t kMostSliceStarts = 1u << 20;

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

/// Returns, for each GPU, the index that is asked there while that GPU is current, as RoutedBatches::carry
/// says. A text has up to the slice's starts, and may lie in the memory of its answers (TextRuns::cut).
/// `payloads` has a part for each GPU, and is of strings (k above kMaxDenseK).
std::vector<std::unique_ptr<DeviceIndex>> route_index(const std::shared_ptr<const FrozenPayloads>& payloads,
                                                      const RoutedLookupPlan& plan,
                                                      Route route = Route::direct);

}  // namespace warpmer::gpu
