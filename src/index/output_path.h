#pragma once
/// Where an output goes, by its path.

#include <string>

namespace warpmer::index {

/// "-", or its name as a file.
bool is_standard_output(const std::string& path);

/// Whether an output under `path` is written directly and in order: standard output, and whatever is there
/// but is no regular file (a pipe, a device).
bool is_stream(const std::string& path);

/// Follows symbolic links, so that the file they lead to is replaced and not the link.
std::string resolve(const std::string& path);

/// The directory that a file is in; "." for a mere name.
std::string parent_of(const std::string& path);

}  // namespace warpmer::index
