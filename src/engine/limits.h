#pragma once
/// What this process may use: cores and memory, as affinity, cgroups and Slurm grant them.

#include <cstdint>
#include <string_view>

namespace warpmer::engine {

/// Cores this process may use: the least of its affinity mask, its cgroup's CPU quota and
/// SLURM_CPUS_PER_TASK; of machine and quota its share, where a launcher has started several ranks on this
/// node. At least 1.
unsigned usable_cores();

/// Bytes of memory this process may use: the least of its cgroup's limit, Slurm's
/// (SLURM_MEM_PER_NODE, SLURM_MEM_PER_CPU times the CPUs) and the machine's memory. Ranks on the same node
/// share what is the node's.
std::uint64_t usable_memory_bytes();

/// What a job's options mean, in which 0 stands for: all cores, and nine tenths of the memory, that this
/// process may use.
unsigned threads_or_all(unsigned threads);
std::uint64_t memory_or_most(std::uint64_t memory_bytes);

/// ResourceError unless a cap of so many bytes for the whole process leaves something to work in besides
/// `spoken_for`, which reading and writing alone need; `job` says for what, as "2 threads".
void check_memory(std::uint64_t cap, std::uint64_t spoken_for, std::string_view job);

/// Resident set of this process now, and the largest it has been, as the kernel counts them.
std::uint64_t resident_bytes();
std::uint64_t peak_resident_bytes();

/// User and system time of this process so far.
double cpu_seconds();

}  // namespace warpmer::engine
