#pragma once
/// Packs text to 2-bit bases, four characters in a register at a time.

#include <cstdint>

#include "kmer/alphabet.h"

namespace warpmer::gpu {

/// Sequences lie one after another, each followed by this character, which breaks k-mers like any other
/// that is no base.
inline constexpr char kSeparator = '\n';

/// Packs four characters, the first in the low byte. Returns codes in the low 8 bits, and a mask of the
/// characters that are no bases in bits 8 to 11. The codes are those of `base_code` and `char_class` in
/// kmer/alphabet.h; tests compare them.
__device__ inline std::uint32_t pack_four(std::uint32_t text) {
  const std::uint32_t raw = (text >> 1) & 0x03030303u;  // A C T G (U) are 0 1 2 3 (2)
  // This is the expected upper-case character; T and U differ in bit 0, which is set for both here.
  const std::uint32_t is_t = (raw >> 1) & ~raw & 0x01010101u;
  const std::uint32_t upper = (text & 0xDFDFDFDFu) | is_t;
  const std::uint32_t nibbles = raw | (raw >> 4);
  const std::uint32_t selector = (nibbles & 0x33u) | ((nibbles >> 8) & 0x3300u);
  const std::uint32_t difference = upper ^ __byte_perm(0x47554341u, 0, selector);  // "ACUG"
  const std::uint32_t other = (((difference & 0x7F7F7F7Fu) + 0x7F7F7F7Fu) | difference) & 0x80808080u;
  std::uint32_t code = raw ^ ((raw >> 1) & 0x01010101u);
  code = (code | (code >> 6) | (code >> 12) | (code >> 18)) & 0xFFu;
  const std::uint32_t breaks = ((other >> 7) | (other >> 14) | (other >> 21) | (other >> 28)) & 0xFu;
  return code | (breaks << 8);
}

/// Sixteen packed characters: codes of 2 bits each, the first lowest, and a mask of the characters that are
/// no bases.
struct PackedSixteen {
  std::uint32_t codes;
  std::uint32_t breaks;
};

__device__ inline PackedSixteen pack_sixteen(uint4 text) {
  const std::uint32_t a = pack_four(text.x), b = pack_four(text.y), c = pack_four(text.z),
                      d = pack_four(text.w);
  return {(a & 0xFF) | (b & 0xFF) << 8 | (c & 0xFF) << 16 | (d & 0xFF) << 24,
          a >> 8 | (b >> 8) << 4 | (c >> 8) << 8 | (d >> 8) << 12};
}

/// True when a character that is no base is no nucleotide code either (`CharClass::invalid`).
__device__ inline bool is_invalid(unsigned char c) {
  // Bit l: the l-th letter of the alphabet breaks k-mers or is a base (A = 0).
  constexpr std::uint32_t kLetters = [] {
    std::uint32_t letters = 0;
    for (unsigned l = 0; l < 26; ++l) letters |= (kCharClasses['A' + l] != CharClass::invalid ? 1u : 0u) << l;
    return letters;
  }();
  const unsigned letter = (c | 0x20u) - 'a';
  if (letter < 26) return ((kLetters >> letter) & 1u) == 0;
  return c != '-' && c != '.' && c != '*' && c != static_cast<unsigned char>(kSeparator);
}

}  // namespace warpmer::gpu
