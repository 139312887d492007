#pragma once
/// Says whether a GPU can count k-mers of some length.

#include <cstdint>

namespace warpmer::gpu {

/// Throws the ResourceError for k-mers that a GPU cannot count: keys of 128 bits are claimed by one compare
/// and swap, which GPUs before compute capability 9.0 do not have, nor code that was compiled for these.
void check_key_width(std::uint32_t k, int gpu);

}  // namespace warpmer::gpu
