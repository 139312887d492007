#pragma once
/// Counting sessions on one GPU.

#include <memory>

#include "engine/backend.h"

namespace warpmer::gpu {

/// ResourceError when the GPU or its memory does not suffice.
std::unique_ptr<engine::CountingSession> make_session(int gpu, const engine::CountPlan& plan);

}  // namespace warpmer::gpu
