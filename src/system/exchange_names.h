#pragma once
/// Two files swap their names.

#include <string>

namespace warpmer::system {

/// Lets two files swap names at once. False where the system, or the file system, cannot do that.
bool exchange_names(const std::string& a, const std::string& b) noexcept;

}  // namespace warpmer::system
