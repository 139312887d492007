#pragma once
/// Tells an index from other files.

#include <string>

namespace warpmer::index {

/// True when a file begins as an index does; false for a pipe, of which nothing is taken.
bool is_index_file(const std::string& path);

}  // namespace warpmer::index
