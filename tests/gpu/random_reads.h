#pragma once
/// Made-up reads for GPU tests.

#include <random>
#include <string>
#include <vector>

#include "random_text.h"

namespace warpmer::tests {

/// Returns reads of a small genome, from both strands, with errors, breaks, lower case and stretches of one
/// base.
inline std::vector<std::string> random_reads(std::size_t n, std::size_t genome_length, unsigned seed,
                                             std::size_t length = 150) {
  std::mt19937_64 random(seed);
  std::string genome = random_text(random, genome_length + length);
  for (std::size_t i = 0; i < 200 && i < genome_length; ++i) genome[genome_length / 2 + i] = 'A';
  std::vector<std::string> reads;
  for (std::size_t i = 0; i < n; ++i) {
    std::string read = genome.substr(random() % genome_length, 1 + random() % length);
    for (char& c : read) {
      if (random() % 100 == 0) c = "ACGTNacgtUR-"[random() % 12];
    }
    if (random() % 2 == 0) {
      std::string other(read.rbegin(), read.rend());
      for (char& c : other) c = c == 'A' ? 'T' : c == 'C' ? 'G' : c == 'G' ? 'C' : c == 'T' ? 'A' : c;
      read = other;
    }
    reads.push_back(read);
  }
  return reads;
}

}  // namespace warpmer::tests
