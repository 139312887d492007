#pragma once
/// Updating an index on GPUs.

#include <memory>

#include "engine/update_session.h"
#include "peers.cuh"

namespace warpmer::gpu {

/// `peers` and `index` must outlive it. ResourceError when a GPU or its memory does not suffice.
std::unique_ptr<engine::UpdatingSession> make_update(Peers& peers, const engine::UpdatePlan& plan,
                                                     const index::IndexFile& index);

}  // namespace warpmer::gpu
