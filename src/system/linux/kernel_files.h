#pragma once
/// Numbers in small files of the kernel.

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "base/number_text.h"

namespace warpmer::system {

/// Returns the number behind a name, in a file that has a name and a number a line.
inline std::optional<std::uint64_t> number_behind(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const auto number = line.find_first_not_of(" \t", name.size());
    if (number > name.size() && number != std::string::npos)
      return number_in(std::string_view(line).substr(number));
  }
  return std::nullopt;
}

}  // namespace warpmer::system
