#pragma once
/// Updates an index on GPUs.

#include <memory>

#include "backend/update_session.h"
#include "kernels/exchange/peers.cuh"

namespace warpmer::gpu {

/// Makes the session of an update. `peers` and `index` must outlive it. Throws a ResourceError when a GPU or
/// its memory does not suffice.
std::unique_ptr<backend::UpdatingSession> make_update(Peers& peers, const backend::UpdatePlan& plan,
                                                      const index::IndexFile& index);

}  // namespace warpmer::gpu
