#pragma once
/// Quantities as people write and read them.

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace warpmer::cli {

/// Returns the finite number in decimal notation, perhaps with a fraction or an exponent, that is all of
/// `text`.
std::optional<double> parse_decimal(std::string_view text);

/// Returns a size in bytes: digits, perhaps a fraction, perhaps a binary unit K, M, G or T (any case,
/// optionally followed by `B` or `iB`); nothing when it is malformed or beyond 64 bits.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// Appends the digits, and nothing else. It is faster than formatting a string, and is for millions of lines
/// of text.
void append_number(std::string& out, std::uint64_t number);
/// Returns `1,234,567`.
std::string with_thousands(std::uint64_t number);
/// Returns how many things there are: `1 read`, `12,345 reads`.
std::string counted(std::uint64_t number, std::string_view thing);
/// Returns `0.57 GB`: three significant digits, decimal units.
std::string format_bytes(double bytes);
std::string format_bytes(std::integral auto bytes) { return format_bytes(static_cast<double>(bytes)); }
/// Returns a count of things: `12,345`; from a million on three significant digits, `245 M`.
std::string format_amount(std::uint64_t amount);
/// Returns `1:07` or `2:03:09`.
std::string format_clock(double seconds);

}  // namespace warpmer::cli
