#pragma once
/// Sums that all ranks have a part of.

#include <cstdint>
#include <vector>

namespace warpmer::mpi {

class ProcessGroup;  // mpi/process_group.h

/// Adds the sums of all ranks up along a binary tree, at whose root is the one that owns the shard: the last
/// one. Returns true on that rank. To be called on all ranks together.
bool add_up_over_ranks(ProcessGroup& ranks, std::vector<std::uint64_t>& sums);

}  // namespace warpmer::mpi
