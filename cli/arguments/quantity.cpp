#include "cli/arguments/quantity.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/number_text.h"

namespace warpmer::cli {
namespace {

/// Bits of a binary unit; 0 for none; nothing for what is no unit.
std::optional<unsigned> unit_bits(std::string_view unit) {
  if (unit.empty() || unit == "B" || unit == "b") return 0;
  const std::size_t place = std::string_view("KMGT").find(
      static_cast<char>(std::toupper(static_cast<unsigned char>(unit.front()))));
  const std::string_view rest = unit.substr(1);
  const bool known_rest = rest.empty() || rest == "B" || rest == "b" || rest == "iB" || rest == "ib";
  if (place == std::string_view::npos || !known_rest) return std::nullopt;
  return 10 * (static_cast<unsigned>(place) + 1);
}

std::string scaled(double value, const std::array<const char*, 6>& units) {
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  const int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  const std::string number = fmt::format("{:.{}f}", value, decimals);
  return *units[unit] == '\0' ? number : number + " " + units[unit];
}

}  // namespace

std::optional<double> parse_decimal(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_all = error == std::errc() && end == text.data() + text.size();
  return is_all && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const std::size_t digits_end = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, digits_end);
  const std::string_view unit =
      digits_end == std::string_view::npos ? std::string_view() : text.substr(digits_end);
  const std::optional<unsigned> bits = unit_bits(unit);
  if (!bits) return std::nullopt;
  if (const auto whole = whole_number(number))
    return *whole <= (UINT64_MAX >> *bits) ? std::optional(*whole << *bits) : std::nullopt;
  const std::optional<double> value = parse_decimal(number);
  if (!value) return std::nullopt;
  const double bytes = std::ldexp(*value, static_cast<int>(*bits));
  return bytes < 0x1p64 ? std::optional(static_cast<std::uint64_t>(bytes)) : std::nullopt;
}

void append_number(std::string& out, std::uint64_t number) {
  const fmt::format_int digits(number);
  out.append(digits.data(), digits.size());
}

std::string with_thousands(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t place = text.size(); place > 3; place -= 3) text.insert(place - 3, 1, ',');
  return text;
}

std::string counted(std::uint64_t number, std::string_view thing) {
  return fmt::format("{} {}{}", with_thousands(number), thing, number == 1 ? "" : "s");
}

std::string format_bytes(double bytes) { return scaled(bytes, {"B", "kB", "MB", "GB", "TB", "PB"}); }

std::string format_amount(std::uint64_t amount) {
  constexpr std::uint64_t kMillion = 1'000'000;
  return amount < kMillion ? with_thousands(amount)
                           : scaled(static_cast<double>(amount), {"", "k", "M", "G", "T", "P"});
}

std::string format_clock(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(std::max(0.0, seconds)));
  const std::uint64_t minutes = whole / 60;
  if (minutes < 60) return fmt::format("{}:{:02}", minutes, whole % 60);
  return fmt::format("{}:{:02}:{:02}", minutes / 60, minutes % 60, whole % 60);
}

}  // namespace warpmer::cli
