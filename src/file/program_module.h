#pragma once
/// Finds the program's modules: libraries that it opens only when it needs them, since what they link with
/// may not be there.

#include <string>

namespace warpmer::file {

/// Returns the path of a module; empty if there is none. It stands beside the program, or where that is
/// installed in ../lib/warpmer.
std::string program_module(const std::string& name);

}  // namespace warpmer::file
