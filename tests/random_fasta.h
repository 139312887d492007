#pragma once
/// Made-up FASTA.

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "random_text.h"

namespace warpmer::tests {

struct FastaShape {
  std::size_t longest_sequence = 1000;
  std::size_t longest_line = 80;  ///< each sequence has lines of one width, at most so many characters
  std::size_t longest_header = 30;
  std::string line_end = "\n";
  std::string alphabet = "ACGTacgtNRYn-";
  unsigned blank_lines = 0;  ///< one line in so many is followed by a blank one; 0: none
};

struct Fasta {
  std::string text;
  std::vector<std::string> sequences;  ///< sequences of all records, empty ones too
};

/// Returns at least `bytes` bytes of FASTA. Sequences may be empty.
inline Fasta fasta(std::size_t bytes, unsigned seed, const FastaShape& shape = {}) {
  std::mt19937 random(seed);
  Fasta made;
  while (made.text.size() < bytes) {
    const std::string header = random_text(random, random() % shape.longest_header, "abc>@;ACGT ");
    std::string sequence = random_text(random, random() % (shape.longest_sequence + 1), shape.alphabet);
    made.text += '>' + header + shape.line_end;
    const std::size_t width = 1 + random() % shape.longest_line;
    for (std::size_t at = 0; at < sequence.size(); at += width) {
      made.text += sequence.substr(at, width) + shape.line_end;
      if (shape.blank_lines > 0 && random() % shape.blank_lines == 0) made.text += shape.line_end;
    }
    made.sequences.push_back(std::move(sequence));
  }
  return made;
}

}  // namespace warpmer::tests
