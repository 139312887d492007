#pragma once
/// Small k: from an array of 4^k counters to the one shard there is.

#include <cstdint>
#include <vector>

#include "backend/tally.h"
#include "index/frozen_shard.h"
#include "kmer/kmer.h"

namespace warpmer::backend {

/// Returns what `freeze_dense` holds at most: the counts, k-mers with their counts in the order of the hash,
/// and the payload.
constexpr std::uint64_t dense_freeze_bytes(std::uint32_t k) {
  return (std::uint64_t{1} << (2 * k)) * (3 * sizeof(std::uint64_t) + sizeof(Key64));
}

/// Adds the count of each k-mer that is the larger of its two strands to the other's, and leaves it 0.
void fold_strands(std::vector<std::uint64_t>& counts, std::uint32_t k);

/// Freezes counts of all k-mers as read, numbered by their value (k <= 12): folds strands together when
/// `canonical`, filters and takes note in `tally`. Uses `counts` up.
index::FrozenShard freeze_dense(std::vector<std::uint64_t>&& counts, std::uint32_t k, bool canonical,
                                Tally& tally);

}  // namespace warpmer::backend
