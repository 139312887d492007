#pragma once
/// White space in sequences: it is no base, and breaks nothing. Lines of sequence hardly ever have any, so
/// readers look for it by many bytes at once, and only a line that may have some is read with care.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "io/text/quality.h"

namespace warpmer::io {

/// True for a space, or a control character that moves on: tabs, line ends, form feeds.
constexpr bool is_blank(char character) {
  return character == ' ' || (character >= '\t' && character <= '\r');
}

/// Returns the end of a line without what is blank at its end.
inline std::size_t trimmed_end(const char* text, std::size_t begin, std::size_t end) {
  while (end > begin && is_blank(text[end - 1])) --end;
  return end;
}

/// True when all characters come from 'A' on, as letters do: no blank is among them, no '>' and no '@'. Runs
/// over every line of FASTA, hence the vectors.
inline bool are_from_letters_on(const char* line, std::size_t length) {
  std::uint8_t others = 0;
  if (length < sizeof(Bytes16)) {
    for (std::size_t i = 0; i < length; ++i) others |= static_cast<std::uint8_t>(line[i]) < 'A' ? 1 : 0;
    return others == 0;
  }
  Bytes16 smallest;
  std::memcpy(&smallest, line, sizeof smallest);
  const auto look_at = [&](const char* bytes) {
    Bytes16 values;
    std::memcpy(&values, bytes, sizeof values);
    smallest = smallest < values ? smallest : values;
  };
  for (std::size_t i = sizeof(Bytes16); i + sizeof(Bytes16) <= length; i += sizeof(Bytes16))
    look_at(line + i);
  look_at(line + length - sizeof(Bytes16));  // the last ones, some of them twice
  const auto below = smallest < static_cast<std::uint8_t>('A');
  std::uint64_t halves[2];
  std::memcpy(halves, &below, sizeof halves);
  return (halves[0] | halves[1]) == 0;
}

}  // namespace warpmer::io
