#pragma once
/// Fields of any width, packed least significant bit first: many threads put theirs side by side.

#include <cstdint>

#include "kmer/kmer.h"

namespace warpmer::gpu {

__device__ inline void or_word(unsigned long long* words, std::uint64_t at, std::uint64_t value) {
  if (value != 0) atomicOr(words + at, static_cast<unsigned long long>(value));
}

/// Puts a field of up to 128 bits at bit `at` of words in device memory, which are zero there.
__device__ inline void or_device(unsigned long long* words, std::uint64_t at, Key128 value) {
  const std::uint32_t shift = at % 64;
  const auto low = static_cast<std::uint64_t>(value), high = static_cast<std::uint64_t>(value >> 64);
  or_word(words, at / 64, low << shift);
  or_word(words, at / 64 + 1, (high << shift) | ((low >> 1) >> (63 - shift)));
  or_word(words, at / 64 + 2, (high >> 1) >> (63 - shift));
}

}  // namespace warpmer::gpu
