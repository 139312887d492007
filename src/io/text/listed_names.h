#pragma once
/// Lists of files that are read within some memory.

#include <cstdint>
#include <string>
#include <vector>

namespace warpmer::io {

/// Expands lists as expand_lists of io/text/input_list.h does, line by line (io/text/line_reader.h): nothing
/// is read behind the first wrong line. ResourceError for names that take more than `most_bytes` in all that
/// a job makes of them.
std::vector<std::string> expand_lists(const std::vector<std::string>& paths, std::uint64_t most_bytes);

}  // namespace warpmer::io
