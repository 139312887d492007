#pragma once
/// Finding a record's name in its header line, and the line's end.

#include <bit>
#include <cstdint>
#include <cstring>

#include "kmer/platform.h"

namespace warpmer::io {

/// True for the characters that end a name: blanks, line ends and other control characters.
WARPMER_HD constexpr bool ends_name(char c) { return static_cast<unsigned char>(c) <= ' '; }

/// Returns the first character at or after `text` that ends a name.
/// Reads eight bytes at a time: there must be such a character, or as many readable bytes before `end` plus
/// `PaddedText::kPadding`; the result may lie behind `end` if there is none before.
inline const char* find_name_end(const char* text, const char* end) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  if constexpr (std::endian::native == std::endian::little) {
    for (; text < end; text += sizeof(std::uint64_t)) {
      std::uint64_t bytes;
      std::memcpy(&bytes, text, sizeof bytes);
      // As `ends_name` says: a byte of at most ' ' borrows and so sets its high bit; the lowest one set is
      // exact.
      const std::uint64_t found = (bytes - kOnes * (' ' + 1)) & ~bytes & kHighBits;
      if (found != 0) return text + std::countr_zero(found) / 8;
    }
    return end;
  } else {
    while (text < end && !ends_name(*text)) ++text;
    return text;
  }
}

/// Returns the first character at or after `text` that is a line end or a carriage return; `end`, or one
/// behind it, if there is none before. Reads as `find_name_end` does.
inline const char* find_header_end(const char* text, const char* end) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  const auto ends = [](char c) { return c == '\n' || c == '\r'; };
  if constexpr (std::endian::native == std::endian::little) {
    while (text < end) {
      std::uint64_t bytes;
      std::memcpy(&bytes, text, sizeof bytes);
      // As above, for control characters, of which there are others: tabs between the parts of a header.
      const std::uint64_t found = (bytes - kOnes * ' ') & ~bytes & kHighBits;
      if (found == 0) {
        text += sizeof bytes;
        continue;
      }
      text += std::countr_zero(found) / 8;
      if (ends(*text)) return text;
      ++text;
    }
    return text;
  } else {
    while (text < end && !ends(*text)) ++text;
    return text;
  }
}

}  // namespace warpmer::io
