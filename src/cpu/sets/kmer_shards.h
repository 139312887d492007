#pragma once
/// The shards of many k-mers, which are no neighbours of each other.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kmer/minimizer.h"

namespace warpmer::cpu {

/// K-mers by words, the lower one first, of which vector code takes several at a time.
template <class Key>
struct KmerWords {
  static constexpr std::size_t kBlock = 64;
  static constexpr std::size_t kWords = sizeof(Key) / sizeof(std::uint64_t);
  std::array<std::array<std::uint64_t, kBlock>, kWords> words;

  void set(std::size_t i, Key key) {
    words[0][i] = static_cast<std::uint64_t>(key);
    if constexpr (kWords == 2) words[1][i] = static_cast<std::uint64_t>(key >> 64);
  }
  /// Calls `take(i, x)` with the low bits of every k-mer, shifted right by `shift`: 30 of them, at least.
  template <class Take>
  [[gnu::always_inline]] void for_each(std::uint32_t shift, const Take& take) const {
    const auto& low = words[shift / 64];
    const std::uint32_t rest = shift % 64;
    if (kWords == 1 || shift >= 64 || rest <= 64 - 30) {
      for (std::size_t i = 0; i < kBlock; ++i) take(i, static_cast<std::uint32_t>(low[i] >> rest));
    } else {
      for (std::size_t i = 0; i < kBlock; ++i)
        take(i, static_cast<std::uint32_t>(low[i] >> rest | words[kWords - 1][i] << (64 - rest)));
    }
  }
};

/// Writes the shards of `n` k-mers of k > kMaxDenseK bases: `shard_of_kmer` of many k-mers at a time.
template <class Key>
void shards_of(const Key* kmers, std::size_t n, std::uint32_t k, bool is_canonical, std::uint16_t* shards) {
  constexpr std::size_t kBlock = KmerWords<Key>::kBlock;
  const std::uint32_t m = minimizer_length(k);
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << (2 * m)) - 1);
  const std::uint32_t as_read = is_canonical ? 0 : UINT32_MAX;  // then an m-mer is before its other strand
  KmerWords<Key> forward{}, complement{};  // the first with its first base lowest, the second with it highest
  std::array<std::uint32_t, kBlock> mmers{}, best{};
  for (std::size_t first = 0; first < n; first += kBlock) {
    const std::size_t size = std::min(kBlock, n - first);
    for (std::size_t i = 0; i < size; ++i) {
      const Key kmer = kmers[first + i];
      // The other strand's complement is this one, backwards.
      forward.set(i, static_cast<Key>(~reverse_complement(kmer, k)));
      complement.set(i, static_cast<Key>(~kmer));
    }
    best.fill(UINT32_MAX);
    for (std::uint32_t at = 0; at + m <= k; ++at) {
      forward.for_each(2 * at, [&](std::size_t i, std::uint32_t x) { mmers[i] = x & mask; });
      complement.for_each(2 * (k - m - at), [&](std::size_t i, std::uint32_t x) {
        best[i] = std::min(best[i], minimizer_hash(std::min(mmers[i], (x & mask) | as_read)));
      });
    }
    for (std::size_t i = 0; i < size; ++i)
      shards[first + i] = static_cast<std::uint16_t>(shard_of(best[i], m, kShardBits));
  }
}

}  // namespace warpmer::cpu
