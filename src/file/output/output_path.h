#pragma once
/// Finds out where an output goes, by its path.

#include <string>

namespace warpmer::file {

/// True for "-", or its name as a file.
bool is_standard_output(const std::string& path);

/// True when an output under `path` is written directly and in order: standard output, and anything that is
/// there but is no regular file (a pipe, a device).
bool is_stream(const std::string& path);

/// Follows symbolic links, so that the file they lead to is made or replaced and not the link: also where
/// they lead to a file that is not there yet.
std::string resolve(const std::string& path);

/// Returns the directory that a file is in; "." for a mere name.
std::string parent_of(const std::string& path);

/// Says why a file cannot be made in a directory, in words; `error` is what the system said.
std::string creation_fault(const std::string& parent, int error);

/// Says what to do about an error of writing an output, or a temporary file, with a colon in front; empty if
/// nothing comes to mind.
const char* output_advice(int error, bool is_temporary = false);

/// Checks what can be known before anything is written: ResourceError when the output is no file or stream,
/// when its name is too long, and when its directory is not there or not writable.
void check_output_path(const std::string& path);

}  // namespace warpmer::file
