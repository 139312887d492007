#include "system/memory_file.h"

#include <cerrno>

namespace warpmer::system {

/// POSIX tells nothing of the kind of a file system.
bool is_in_memory(int /*descriptor*/) noexcept { return false; }
bool is_in_memory(const std::string& /*path*/) noexcept { return false; }

int allocate_pages(int /*descriptor*/, std::uint64_t /*begin*/, std::uint64_t /*end*/) noexcept {
  return EOPNOTSUPP;
}

}  // namespace warpmer::system
