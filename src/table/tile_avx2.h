#pragma once
/// Host tile that compares four 64-bit keys at a time. Include only where AVX2 is compiled for.

#include <immintrin.h>

#include <cstring>

#include "table/tile.h"

namespace warpmer::table {

template <int Width>
struct Avx2Tile : SerialTile<std::uint64_t, Width> {
  static_assert(Width % 4 == 0);
  using Key = std::uint64_t;
  struct Bucket {
    __m256i keys[Width / 4];
  };

  WARPMER_HD Bucket load(Slots<Key> s) const {
    Bucket b;
    for (int i = 0; i < Width / 4; ++i)
      b.keys[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(s.keys + 4 * i));
    return b;
  }
  WARPMER_HD SlotMask match(const Bucket& b, Key key) const {
    const __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(key));
    SlotMask mask = 0;
    for (int i = 0; i < Width / 4; ++i) {
      const __m256d equal = _mm256_castsi256_pd(_mm256_cmpeq_epi64(b.keys[i], wanted));
      mask |= static_cast<SlotMask>(_mm256_movemask_pd(equal)) << (4 * i);
    }
    return mask;
  }
  WARPMER_HD SlotMask match(const Bucket& b, Key key, Key bits) const {
    const __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(key & bits));
    const __m256i looked_at = _mm256_set1_epi64x(static_cast<long long>(bits));
    SlotMask mask = 0;
    for (int i = 0; i < Width / 4; ++i) {
      const __m256i equal = _mm256_cmpeq_epi64(_mm256_and_si256(b.keys[i], looked_at), wanted);
      mask |= static_cast<SlotMask>(_mm256_movemask_pd(_mm256_castsi256_pd(equal))) << (4 * i);
    }
    return mask;
  }
  WARPMER_HD Key key_in(const Bucket& b, int i) const {
    Key key = 0;
    std::memcpy(&key, reinterpret_cast<const char*>(b.keys) + i * sizeof key, sizeof key);
    return key;
  }
  WARPMER_HD SlotMask empty(const Bucket& b) const { return match(b, kEmptyKey<Key>); }
};

}  // namespace warpmer::table
