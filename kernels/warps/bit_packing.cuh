#pragma once
/// Fields of any width, packed least significant bit first: many threads put theirs side by side.

#include <cstdint>

#include "kmer/kmer.h"

namespace warpmer::gpu {

/// Puts the bits of `value` at bit `at` of words in shared memory, which are zero there.
__device__ inline void or_shared(std::uint32_t* words, std::uint32_t at, std::uint64_t value) {
  const std::uint32_t shift = at % 32;
  const auto low = static_cast<std::uint32_t>(value), high = static_cast<std::uint32_t>(value >> 32);
  words += at / 32;
  atomicOr(words, low << shift);
  atomicOr(words + 1, __funnelshift_l(low, high, shift));
  if (const std::uint32_t rest = __funnelshift_l(high, 0, shift); rest != 0) atomicOr(words + 2, rest);
}

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

/// Packs n fields of `bits` bits, at most 64, from number `first` on. `threads` threads call it, of which
/// this is number `thread`; each makes one output word at a time. `value_of(i)` is field i.
template <class ValueOf>
__device__ void pack_fields(unsigned long long* words, std::uint64_t first, std::uint32_t n,
                            std::uint32_t bits, std::uint32_t thread, std::uint32_t threads,
                            ValueOf&& value_of) {
  if (n == 0) return;
  const std::uint64_t begin = first * bits;
  const int width = static_cast<int>(bits), skipped = static_cast<int>(begin % 64);
  const int last_word = (skipped + static_cast<int>(n) * width - 1) / 64;
  for (int w = static_cast<int>(thread); w <= last_word; w += static_cast<int>(threads)) {
    auto i = static_cast<std::uint32_t>(max(64 * w - skipped, 0)) / bits;
    std::uint64_t word = 0;
    for (int at = static_cast<int>(i) * width + skipped - 64 * w; at < 64 && i < n; at += width, ++i) {
      const std::uint64_t value = value_of(i);
      word |= at >= 0 ? value << at : value >> -at;
    }
    // Neighbours have a share in the first and the last word.
    if (w == 0 || w == last_word) {
      or_word(words, begin / 64 + w, word);
    } else {
      words[begin / 64 + w] = word;
    }
  }
}

}  // namespace warpmer::gpu
