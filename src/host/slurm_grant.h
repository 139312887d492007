#pragma once
/// Cores and memory that Slurm grants a process, as it tells by SLURM_*.

#include <cstdint>
#include <optional>

#include "host/node_share.h"

namespace warpmer::host {

/// Nothing where Slurm says nothing.
struct SlurmGrant {
  std::optional<std::uint64_t> cores;
  std::optional<std::uint64_t> memory_bytes;
};

/// Cores are what each task was promised (SLURM_CPUS_PER_TASK), and not more than the share of what the job
/// has on this node (SLURM_CPUS_ON_NODE). Memory is, as the job has asked for it, the share of
/// SLURM_MEM_PER_NODE, or SLURM_MEM_PER_CPU for each of these cores, or the share of SLURM_MEM_PER_GPU times
/// SLURM_GPUS_ON_NODE.
SlurmGrant slurm_grant(const NodeShare& share);

}  // namespace warpmer::host
