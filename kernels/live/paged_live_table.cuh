#pragma once
/// A live table that is larger than the memory of its GPUs.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/live/initial_kmers.h"
#include "backend/live/live_table.h"

namespace warpmer::gpu {

/// Throws the ResourceError that says so when the host memory of the plan is too little for so many k-mers
/// beside so many bytes.
void check_paged_room(const backend::LiveTablePlan& plan, std::size_t gpus, std::uint64_t kmers,
                      std::uint64_t other_bytes);

/// Takes so many bytes of each GPU, and for children the host memory of the plan, whose `base` is of no
/// meaning: the table begins with `initial`, or is empty when that is null. ResourceError when either is too
/// little.
std::unique_ptr<backend::LiveTable> make_paged_live_table(const backend::LiveTablePlan& plan,
                                                          const std::vector<int>& gpus, std::uint64_t bytes,
                                                          const backend::InitialKmers* initial);

/// Returns the least bytes of each GPU that make sense.
std::uint64_t least_bytes_of_paged(std::uint32_t k);

}  // namespace warpmer::gpu
