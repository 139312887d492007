#pragma once
/// Quantities as people write and read them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace warpmer::cli {

/// A decimal whole number, nothing else; nothing when malformed or beyond 64 bits.
std::optional<std::uint64_t> parse_whole_number(std::string_view text);

/// A number in decimal notation, perhaps with a fraction or an exponent, nothing else; finite.
std::optional<double> parse_decimal(std::string_view text);

/// A size in bytes: digits, perhaps a fraction, perhaps a binary unit K, M, G or T (any case,
/// optionally followed by `B` or `iB`). Nothing when malformed or beyond 64 bits.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// Appends the digits, and nothing else, which is faster than formatting a string: for lines of text by the
/// million.
void append_number(std::string& out, std::uint64_t number);
/// `1,234,567`
std::string with_thousands(std::uint64_t number);
/// `0.57 GB`: three significant digits, decimal units.
std::string format_bytes(double bytes);
/// Counts of things: `12,345`; from a million on three significant digits, `245 M`.
std::string format_amount(std::uint64_t amount);
/// `1:07` or `2:03:09`
std::string format_clock(double seconds);

}  // namespace warpmer::cli
