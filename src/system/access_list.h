#pragma once
/// Access control lists of files, beyond their modes.

#include <string>

namespace warpmer::system {

/// Gives an open file the access control list of another, or takes the one away that its directory gave it.
/// True when it has one now; its mode is then that of the list. False also where the system has no such lists
/// that we know of.
bool copy_access_list(const std::string& from, int descriptor) noexcept;

}  // namespace warpmer::system
