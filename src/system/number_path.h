#pragma once
/// Paths that are a folder and a number.

#include <charconv>
#include <string_view>
#include <system_error>

namespace warpmer::system {

/// Returns the number behind a folder, which ends in a slash; -1 if the path is no such.
inline int number_behind_folder(std::string_view path, std::string_view folder) noexcept {
  if (!path.starts_with(folder)) return -1;
  const std::string_view digits = path.substr(folder.size());
  int number = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && end == digits.data() + digits.size() ? number : -1;
}

}  // namespace warpmer::system
