#include "cli/framework/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace warpmer::cli {
namespace {

/// A character of UTF-8 and its bytes; of what is none, 0 bytes.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

/// The one that `text`, which is not empty, begins with. Too long forms, surrogates and numbers beyond
/// Unicode are none.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = first & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, bytes};
}

bool is_control(std::uint32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

/// Line and paragraph separators, and what sets the direction of text.
bool is_mark(std::uint32_t code) {
  return code == 0x061c || (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string escape_of(std::uint32_t code) {
  switch (code) {
    case '\t':
      return "\\t";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    default:
      return code < 0x100 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{{{:04x}}}", code);
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
    if (character.bytes == 0) {
      out += escape_of(static_cast<unsigned char>(text[at]));
    } else if (is_control(character.code) || is_mark(character.code)) {
      out += escape_of(character.code);
    } else {
      out.append(text.substr(at, bytes));
    }
    at += bytes;
  }
  return out;
}

}  // namespace warpmer::cli
