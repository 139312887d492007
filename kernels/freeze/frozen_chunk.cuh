#pragma once
/// Frozen shards on the device, as a counter hands them over.

#include <cstdint>
#include <vector>

#include "kernels/freeze/freeze.cuh"
#include "kernels/memory/device_memory.cuh"

namespace warpmer::gpu {

/// Some consecutive frozen shards. A chunk is valid until `reclaim` of its first shard has returned.
struct FrozenChunk {
  std::uint32_t first_shard = 0;
  std::vector<ShardPlan> plans;                 ///< one for each shard
  const unsigned long long* payload = nullptr;  ///< on the device
  Event* ready = nullptr;                       ///< when it has passed, the payload is complete
};

}  // namespace warpmer::gpu
