#pragma once
/// The program that this process runs, and the variables that it hands on.

#include <string>

namespace warpmer::system {

/// Returns the path of the program, with links resolved; empty if that cannot be told.
std::string program_path();

/// Returns the environment, as programs that are started expect it.
char** environment_variables() noexcept;

}  // namespace warpmer::system
