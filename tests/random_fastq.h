#pragma once
/// Made-up FASTQ.

#include <cstddef>
#include <random>
#include <string>

namespace warpmer::tests {

/// Returns a FASTQ record of four lines, of up to `longest` bases, whose lines look like one another.
inline std::string record_of(std::mt19937& random, std::size_t number, std::size_t longest) {
  const std::size_t length = 1 + random() % longest;
  std::string bases(length, ' '), quality(length, ' ');
  for (char& c : bases) c = "ACGTN"[random() % 5];
  // Qualities look like other lines.
  for (char& c : quality) c = "@+>I#ACGT"[random() % 9];
  const std::string header = "read" + std::to_string(number) + (number % 3 == 0 ? " comment @ +" : "");
  return "@" + header + "\n" + bases + "\n+" + (number % 5 == 0 ? header : "") + "\n" + quality + "\n";
}

/// Returns at least `bytes` bytes of such records.
inline std::string fastq(std::size_t bytes, unsigned seed, std::size_t longest = 150) {
  std::mt19937 random(seed);
  std::string text;
  for (std::size_t number = 1; text.size() < bytes; ++number) text += record_of(random, number, longest);
  return text;
}

}  // namespace warpmer::tests
