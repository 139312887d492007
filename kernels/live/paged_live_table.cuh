#pragma once
/// A live table that is larger than the memory of its GPUs.

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/live/live_table.h"

namespace warpmer::gpu {

/// Takes so many bytes of each GPU, and for children the host memory of the plan. ResourceError when either
/// is too little.
std::unique_ptr<backend::LiveTable> make_paged_live_table(const backend::LiveTablePlan& plan,
                                                          const std::vector<int>& gpus, std::uint64_t bytes);

/// Returns the least bytes of each GPU that make sense.
std::uint64_t least_bytes_of_paged(std::uint32_t k);

}  // namespace warpmer::gpu
