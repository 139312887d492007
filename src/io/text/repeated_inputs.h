#pragma once
/// Files that are named more than once.

#include <string>
#include <vector>

namespace warpmer::io {

/// Warns, by one sentence, when a file is named more than once, by whichever names: it is read each time.
void warn_of_repeats(const std::vector<std::string>& inputs);

}  // namespace warpmer::io
