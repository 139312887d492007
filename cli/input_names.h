#pragma once
/// Names of inputs within a cap on memory.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/flags.h"

namespace warpmer::cli {

/// What the names that lists of files have may take of a cap on the process; of 0, which is none, 4 GiB.
std::uint64_t most_bytes_of_names(std::uint64_t memory_bytes);

/// As expand_lists of cli/flags.h. ResourceError for more names than such a cap leaves room for.
void expand_lists(std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                  std::uint64_t memory_bytes);

}  // namespace warpmer::cli
