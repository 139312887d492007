#pragma once
/// Chooses the directory of temporary files.

#include <string>

namespace warpmer::host {

/// Returns `chosen` (--tmp-dir) unless it is empty; else $TMPDIR; else that of directory_beside.
std::string tmp_directory(const std::string& chosen, const std::string& output);

/// Returns the directory of the file that `output` names, or leads to. Where that is no file, but standard
/// output, a pipe or a device, it is "/var/tmp", or "/tmp" where that cannot be written to.
std::string directory_beside(const std::string& output);

}  // namespace warpmer::host
