#include "system/process_limits.h"

namespace warpmer::system {

std::optional<unsigned> affinity_cores() { return std::nullopt; }
std::optional<double> quota_cores() { return std::nullopt; }
/// POSIX tells nothing of limits that processes share, nor of what is free.
MemoryRoom memory_room() { return {}; }

}  // namespace warpmer::system
