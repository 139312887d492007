#pragma once
/// Processes of one job that run on the same node, as the launcher tells by the environment: Open MPI's and
/// MPICH's launchers, and Slurm's srun. What a node has is for all of them.

#include <cstdint>
#include <string>
#include <vector>

#include "host/gpus.h"

namespace warpmer::host {

struct NodeShare {
  unsigned processes = 1;  ///< processes of this job on this node, this one included
  unsigned index = 0;      ///< number of this process among them
};

/// Returns the name of this machine, by which the processes of a job tell nodes apart.
std::string machine_name();

/// Looks at the environment. A batch script is one process, however many tasks its job has: tasks are what
/// srun or mpirun starts.
NodeShare node_share();

/// Returns the share that belongs to this process of something of which the node has `all`; at least 1 of 1
/// or more.
std::uint64_t part_of(std::uint64_t all, const NodeShare& share);

/// Returns the GPUs, of those that this process sees, that it may take unasked. Where the launcher has given
/// each process GPUs of its own (CUDA_VISIBLE_DEVICES) these are all. Where all processes see the same ones,
/// they are divided among them; with more processes than GPUs, several get the same one.
std::vector<Gpu> own_gpus(const std::vector<Gpu>& visible, const NodeShare& share);
/// True when these are GPUs that other processes of the job take, too.
bool are_gpus_shared(const std::vector<Gpu>& visible, const NodeShare& share);

/// True when the GPUs that this process sees were given to it: by Slurm, or by who set CUDA_VISIBLE_DEVICES.
bool are_gpus_granted();

}  // namespace warpmer::host
