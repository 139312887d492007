#pragma once
/// The owner of each shard: every device (and rank) owns a contiguous range.

#include <cstdint>

#include "kmer/platform.h"

namespace warpmer {

/// Returns the first shard of an owner; the range ends where the next one's begins.
WARPMER_HD constexpr std::uint32_t first_shard_of(std::uint32_t owner, std::uint32_t owners,
                                                  std::uint32_t shards) {
  return static_cast<std::uint32_t>(std::uint64_t{shards} * owner / owners);
}

/// Returns the owner of a shard.
WARPMER_HD constexpr std::uint32_t owner_of(std::uint32_t shard, std::uint32_t owners, std::uint32_t shards) {
  return static_cast<std::uint32_t>(((std::uint64_t{shard} + 1) * owners - 1) / shards);
}

}  // namespace warpmer
