#pragma once
/// Tells indexes from other files.

#include <string>

namespace warpmer::index {

// True when a file begins as such an index does; false for a pipe, of which nothing is taken. InputError for
// a file that cannot be opened; ResourceError without a descriptor for it.

/// An index (.wmi).
bool is_index_file(const std::string& path);
/// An index of positions (.wmp).
bool is_position_file(const std::string& path);

}  // namespace warpmer::index
