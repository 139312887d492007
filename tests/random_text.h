#pragma once
/// Made-up sequences.

#include <cstddef>
#include <string>
#include <string_view>

namespace warpmer::tests {

/// Returns `length` characters, each one of `letters`, which `random` chooses (any engine of <random>).
template <class Random>
std::string random_text(Random& random, std::size_t length, std::string_view letters = "ACGT") {
  std::string text(length, ' ');
  for (char& c : text) c = letters[random() % letters.size()];
  return text;
}

}  // namespace warpmer::tests
