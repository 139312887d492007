#pragma once
/// The time at which a file was changed.

#include <sys/stat.h>

#include <ctime>

namespace warpmer::system {

/// Async-signal-safe.
timespec changed_at(const struct stat& status) noexcept;

}  // namespace warpmer::system
