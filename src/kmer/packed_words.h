#pragma once
/// K-mers as words of 64 bits for others to read: one up to k = 32, else two, the upper one first.

#include <cstddef>
#include <cstdint>

#include "kmer/kmer.h"

namespace warpmer {

/// Words of a k-mer.
template <class Key>
inline constexpr std::size_t kPackedWords = kKeyBits<Key> / 64;

inline void write_packed(Key64 kmer, std::uint64_t* words) { *words = kmer; }
inline void write_packed(Key128 kmer, std::uint64_t* words) {
  words[0] = static_cast<std::uint64_t>(kmer >> 64);
  words[1] = static_cast<std::uint64_t>(kmer);
}

inline void read_packed(const std::uint64_t* words, Key64& kmer) { kmer = *words; }
inline void read_packed(const std::uint64_t* words, Key128& kmer) {
  kmer = (Key128{words[0]} << 64) | words[1];
}

}  // namespace warpmer
