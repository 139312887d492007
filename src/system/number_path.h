#pragma once
/// Paths that are a folder and a number.

#include <string_view>

#include "base/number_text.h"

namespace warpmer::system {

/// Returns the number behind a folder, which ends in a slash; -1 if the path is no such.
inline int number_behind_folder(std::string_view path, std::string_view folder) noexcept {
  if (!path.starts_with(folder)) return -1;
  return whole_number<int>(path.substr(folder.size())).value_or(-1);
}

}  // namespace warpmer::system
