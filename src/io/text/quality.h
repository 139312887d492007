#pragma once
/// Base qualities as FASTQ text: checking them and masking by them, at many bytes an instruction.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace warpmer::io {

constexpr char kLowestQuality = '!';   ///< Phred 0
constexpr char kHighestQuality = '~';  ///< Phred 93

/// Returns the lowest quality character whose base is kept when bases below a Phred score are masked; 0: all
/// are.
inline char lowest_unmasked(std::optional<int> min_base_quality) {
  if (!min_base_quality || *min_base_quality <= 0) return 0;
  return static_cast<char>(kLowestQuality +
                           std::min(*min_base_quality, kHighestQuality - kLowestQuality + 1));
}

/// A vector of bytes on any architecture that GCC and Clang know; x86-64 has it in one register.
using Bytes16 = std::uint8_t __attribute__((vector_size(16)));

inline bool is_quality(char character) { return character >= kLowestQuality && character <= kHighestQuality; }

/// Returns the position of the first character that is no quality, or `length` if all are.
inline std::size_t first_bad_quality(const char* quality, std::size_t length) {
  std::size_t i = 0;
  while (i < length && is_quality(quality[i])) ++i;
  return i;
}

/// True when all characters are qualities. Runs over every byte of every FASTQ, hence the vectors.
inline bool are_qualities(const char* quality, std::size_t length) {
  if (length < sizeof(Bytes16)) return first_bad_quality(quality, length) == length;
  constexpr std::uint8_t kSpan = kHighestQuality - kLowestQuality;
  Bytes16 largest = {};
  const auto look_at = [&](const char* bytes) {
    Bytes16 values;
    std::memcpy(&values, bytes, sizeof values);
    values -= static_cast<std::uint8_t>(kLowestQuality);  // what is below wraps around to above
    largest = largest > values ? largest : values;
  };
  for (std::size_t i = 0; i + sizeof(Bytes16) <= length; i += sizeof(Bytes16)) look_at(quality + i);
  look_at(quality + length - sizeof(Bytes16));  // the last ones, some of them twice
  const auto bad = largest > kSpan;
  std::uint64_t halves[2];
  std::memcpy(halves, &bad, sizeof halves);
  return (halves[0] | halves[1]) == 0;
}

/// Overwrites by 'N' every letter whose quality character is below `lowest`. Other characters stay, so that a
/// later look at the bases still finds what does not belong there.
inline void mask_bases(char* __restrict bases, const char* __restrict quality, std::size_t length,
                       char lowest) {
  for (std::size_t i = 0; i < length; ++i) {
    const auto base = static_cast<std::uint8_t>(bases[i]);
    const bool is_letter = static_cast<std::uint8_t>((base | 0x20) - 'a') < 26;
    const bool is_low = static_cast<std::uint8_t>(quality[i]) < static_cast<std::uint8_t>(lowest);
    bases[i] = (is_letter & is_low) ? 'N' : bases[i];
  }
}

}  // namespace warpmer::io
