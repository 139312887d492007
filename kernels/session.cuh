#pragma once
/// Counting sessions on one GPU or several.

#include <memory>

#include "engine/backend.h"
#include "peers.cuh"

namespace warpmer::gpu {

/// `peers` must outlive it. ResourceError when a GPU or its memory does not suffice.
std::unique_ptr<engine::CountingSession> make_session(Peers& peers, const engine::CountPlan& plan);

}  // namespace warpmer::gpu
