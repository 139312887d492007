#pragma once
/// Sequences for the tests of groups: random ones, and those in which minimizers stand twice.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kmer/alphabet.h"
#include "kmer/kmer.h"
#include "random_text.h"

namespace warpmer::tests {

inline std::string other_strand_of(std::string text) {
  std::reverse(text.begin(), text.end());
  for (char& c : text) c = base_char(3u - base_code(c));
  return text;
}

/// Random sequence, homopolymers, tandem repeats of 1 to 6 bases, palindromes, and repeats with flanks.
inline std::vector<std::string> awkward_sequences(std::uint32_t k, std::mt19937_64& random) {
  std::vector<std::string> texts{random_text(random, 4 * k), std::string(k + 3, 'A'),
                                 std::string(2 * k, 'T')};
  for (std::size_t period = 2; period <= 6; ++period) {
    const std::string unit = random_text(random, period);
    std::string text = random_text(random, k / 2);
    while (text.size() < 3 * k) text += unit;
    texts.push_back(text + random_text(random, k / 2));
  }
  const std::string half = random_text(random, k);
  texts.push_back(half + other_strand_of(half));
  texts.push_back(half + random_text(random, 3) + half + random_text(random, 2) + other_strand_of(half));
  return texts;
}

inline std::vector<std::uint8_t> codes_of(std::string_view text) {
  std::vector<std::uint8_t> codes;
  for (const char c : text) codes.push_back(base_code(c));
  return codes;
}

template <class Key, class Visit>
void for_each_kmer(std::string_view text, std::uint32_t k, Visit&& visit) {
  for (std::size_t i = 0; i + k <= text.size(); ++i) {
    Key kmer = 0;
    kmer_from_text(text.substr(i, k), kmer);
    visit(kmer);
  }
}

template <class Key>
std::vector<Key> kmers_of(std::string_view text, std::uint32_t k) {
  std::vector<Key> kmers;
  for_each_kmer<Key>(text, k, [&](Key kmer) { kmers.push_back(kmer); });
  return kmers;
}

}  // namespace warpmer::tests
