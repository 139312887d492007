#pragma once
/// The nucleotide alphabet: which characters are bases, which break a k-mer, which are errors.

#include <array>
#include <cstdint>
#include <string_view>

namespace warpmer {

/// The meaning of a character of a sequence.
enum class CharClass : std::uint8_t {
  base,     ///< A C G T U, any case; U counts as T
  breaks,   ///< other IUPAC nucleotide codes, gaps (- and .), * and X: no k-mer spans them
  invalid,  ///< anything else: protein, colour space, noise
};

namespace detail {
constexpr std::array<CharClass, 256> make_char_classes() {
  std::array<CharClass, 256> classes{};
  for (auto& c : classes) c = CharClass::invalid;
  for (const char c : std::string_view("ACGTUacgtu"))
    classes[static_cast<unsigned char>(c)] = CharClass::base;
  for (const char c : std::string_view("RYSWKMBDHVNXryswkmbdhvnx-.*"))
    classes[static_cast<unsigned char>(c)] = CharClass::breaks;
  return classes;
}
}  // namespace detail

inline constexpr std::array<CharClass, 256> kCharClasses = detail::make_char_classes();

constexpr CharClass char_class(char c) { return kCharClasses[static_cast<unsigned char>(c)]; }

/// Code of a character whose class is `base`: A is 0, C 1, G 2, T and U 3, so that the complement of code c
/// is 3 - c. Bits 1 and 2 of A C T G (U) are 0 1 2 3 (2) in either case; the xor swaps the last two.
constexpr std::uint8_t base_code(char c) {
  const auto code = static_cast<std::uint8_t>((static_cast<unsigned char>(c) >> 1) & 3);
  return static_cast<std::uint8_t>(code ^ (code >> 1));
}

/// Returns the upper-case character of a base code.
constexpr char base_char(unsigned code) { return "ACGT"[code & 3]; }

}  // namespace warpmer
