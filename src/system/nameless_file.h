#pragma once
/// Files without a name: the system takes them back however the process ends.

#include <sys/types.h>

#include <optional>
#include <string>

namespace warpmer::system {

/// Opens a new file in a directory for reading and writing, which has no name from the beginning. Returns a
/// descriptor, or -1 with errno set.
int open_nameless(const std::string& directory, mode_t mode);

/// True when an error of `open_nameless` says that the system, or the file system, has no such files.
bool lacks_nameless_files(int error) noexcept;

/// Opens a new file in a directory for reading and writing, of this user alone, whose name is gone when it
/// returns. Returns a descriptor, or -1 with errno set.
int open_unlinked(const std::string& directory);

/// Returns the mode to make a nameless file with, so that it gets the rights of any new file in the
/// directory. Nothing where that cannot be told, or where such a file could not be named.
std::optional<mode_t> mode_of_nameless(const std::string& directory);

/// Gives a nameless file a name, which replaces nothing. Returns 0 or errno.
int name_nameless(int descriptor, const std::string& path);

}  // namespace warpmer::system
