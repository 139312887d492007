#pragma once
/// Small k: from an array of 4^k counters to the one shard there is.

#include <cstdint>
#include <vector>

#include "engine/tally.h"
#include "index/frozen_shard.h"

namespace warpmer::engine {

/// Freezes counts of all k-mers as read, numbered by their value (k <= 12): folds strands together when
/// `canonical`, filters and takes note in `tally`. Uses `counts` up.
index::FrozenShard freeze_dense(std::vector<std::uint64_t>&& counts, std::uint32_t k, bool canonical,
                                Tally& tally);

}  // namespace warpmer::engine
