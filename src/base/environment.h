#pragma once
/// Numbers in text and in environment variables.

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace warpmer {

/// Returns the number that a text begins with.
inline std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

/// Returns the whole number that all of a text is.
template <class Number = std::uint64_t>
std::optional<Number> whole_number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_all = error == std::errc{} && end == text.data() + text.size();
  return is_all ? std::optional(value) : std::nullopt;
}

/// Returns the number that a variable begins with; none where it is 0, which means "no limit" to all that set
/// such variables.
inline std::optional<std::uint64_t> environment_number(const char* name) {
  const char* text = std::getenv(name);
  const auto number = text == nullptr ? std::nullopt : number_in(text);
  return number == std::uint64_t{0} ? std::nullopt : number;
}

}  // namespace warpmer
