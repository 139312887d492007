#pragma once
/// Made-up FASTQ.

#include <cstddef>
#include <random>
#include <string>

#include "random_text.h"

namespace warpmer::tests {

/// Returns a FASTQ record of four lines, of up to `longest` bases, whose lines look like one another.
inline std::string record_of(std::mt19937& random, std::size_t number, std::size_t longest) {
  const std::size_t length = 1 + random() % longest;
  const std::string bases = random_text(random, length, "ACGTN");
  const std::string quality = random_text(random, length, "@+>I#ACGT");  // looks like other lines
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
