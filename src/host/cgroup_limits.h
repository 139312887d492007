#pragma once
/// The kernel's small files say what this process may use: the limits of its cgroups, of version 1, version 2
/// or both, and how much memory is free.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace warpmer::host {

/// A limit of a cgroup holds for all in it and below it, so that of a process's cgroup and of those above it
/// the least one counts.
struct MemoryRoom {
  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t limit_bytes = kNoLimit;
  /// Bytes that are free now, of the machine and below each of these limits. Files that the kernel holds in
  /// memory count as free: they give way. Memory that this process holds does not.
  std::uint64_t free_bytes = kNoLimit;
};

/// Returns the cores that the quotas of this process's cgroups leave it (CPU time divided by time); nothing
/// where there is none. `root` is where /proc and /sys are found. What cannot be read limits nothing.
std::optional<double> cgroup_cores(const std::string& root = "");
MemoryRoom memory_room(const std::string& root = "");

}  // namespace warpmer::host
