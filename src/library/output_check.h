#pragma once
/// Checks that all calls make that write an index.

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"

namespace warpmer::library {

/// The output replaces what has its name: that must not be what was read.
inline void require_other_output(const std::vector<std::string>& inputs, const std::string& output) {
  for (const std::string& input : inputs) {
    std::error_code failed;
    if (std::filesystem::is_regular_file(output, failed) &&
        std::filesystem::equivalent(input, output, failed)) {
      throw UsageError(fmt::format("the output {} is also an input; give it another name", output));
    }
  }
}

}  // namespace warpmer::library
