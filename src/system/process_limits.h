#pragma once
/// Cores and memory that the system lets this process have. What cannot be told limits nothing.

#include <cstdint>
#include <limits>
#include <optional>

namespace warpmer::system {

/// Returns the number of cores that this process is bound to.
std::optional<unsigned> affinity_cores();

/// Returns the cores that quotas of CPU time leave this process (CPU time divided by time).
std::optional<double> quota_cores();

/// Bytes of memory that there is room for.
struct MemoryRoom {
  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
  /// The least of all limits that hold for this process together with others.
  std::uint64_t limit_bytes = kNoLimit;
  /// Bytes that are free now, of the machine and below each of these limits. Files that the system holds in
  /// memory count as free: they give way. Memory that this process holds does not.
  std::uint64_t free_bytes = kNoLimit;
};
MemoryRoom memory_room();

}  // namespace warpmer::system
