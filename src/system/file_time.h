#pragma once
/// The time at which a file was changed.

#include <sys/stat.h>

#include <ctime>

namespace warpmer::system {

/// Async-signal-safe.
inline timespec changed_at(const struct stat& status) noexcept {
#ifdef __APPLE__
  return status.st_mtimespec;
#else
  return status.st_mtim;
#endif
}

}  // namespace warpmer::system
