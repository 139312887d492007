#pragma once
/// The kernel's small files say what this process may use: the limits of its cgroups, of version 1, version 2
/// or both, and how much memory is free.

#include <optional>
#include <string>

#include "system/process_limits.h"

namespace warpmer::system {

/// Return what `quota_cores` and `memory_room` do. `root` is where /proc and /sys are found. A limit of a
/// cgroup holds for all in it and below it, so that of a process's cgroup and of those above it the least one
/// counts.
std::optional<double> cgroup_cores(const std::string& root);
MemoryRoom cgroup_memory(const std::string& root);

}  // namespace warpmer::system
