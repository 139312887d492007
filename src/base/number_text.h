#pragma once
/// Numbers that are written in text.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace warpmer {

/// Returns the number that a text begins with.
inline std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

/// Returns the decimal whole number that is all of `text`; nothing when it is malformed or too large.
template <class Number = std::uint64_t>
std::optional<Number> whole_number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_all = error == std::errc{} && end == text.data() + text.size();
  return is_all ? std::optional(value) : std::nullopt;
}

}  // namespace warpmer
