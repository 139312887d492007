#include "system/process_limits.h"

#include <sys/resource.h>

#include <algorithm>

namespace warpmer::system {

std::optional<unsigned> affinity_cores() { return std::nullopt; }
std::optional<double> quota_cores() { return std::nullopt; }

/// POSIX tells limits of the process, and nothing of what is free.
MemoryRoom memory_room() {
  MemoryRoom room;
  const auto consider = [&room](const rlimit& limit) {
    if (limit.rlim_cur == RLIM_INFINITY) return;
    room.own_limit_bytes = std::min<std::uint64_t>(room.own_limit_bytes, limit.rlim_cur);
  };
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0) consider(limit);
  if (::getrlimit(RLIMIT_DATA, &limit) == 0) consider(limit);
  return room;
}

}  // namespace warpmer::system
