#pragma once
/// Numbers in environment variables and in small files of the kernel.

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace warpmer {

/// Returns the number that a text begins with.
inline std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

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

/// Returns the number that a variable begins with; none where it is 0, which means "no limit" to all that set
/// such variables.
inline std::optional<std::uint64_t> environment_number(const char* name) {
  const char* text = std::getenv(name);
  const auto number = text == nullptr ? std::nullopt : number_in(text);
  return number == std::uint64_t{0} ? std::nullopt : number;
}

}  // namespace warpmer
