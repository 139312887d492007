#pragma once
/// Where temporary files go.

#include <string>

namespace warpmer::engine {

/// `chosen` (--tmp-dir) unless it is empty; else $TMPDIR; else the directory of `output`, "/tmp" when that is
/// standard output.
std::string tmp_directory(const std::string& chosen, const std::string& output);

}  // namespace warpmer::engine
