#pragma once
/// Host tile that compares eight 64-bit keys, one cache line, at a time. Include only where AVX-512F
/// is compiled for.

#include <immintrin.h>

#include <cstring>

#include "table/tile.h"

namespace warpmer::table {

template <int Width>
struct Avx512Tile : SerialTile<std::uint64_t, Width> {
  static_assert(Width % 8 == 0);
  using Key = std::uint64_t;
  struct Bucket {
    __m512i keys[Width / 8];
  };

  WARPMER_HD Bucket load(Slots<Key> s) const {
    Bucket b;
    for (int i = 0; i < Width / 8; ++i) b.keys[i] = _mm512_loadu_si512(s.keys + 8 * i);
    return b;
  }
  WARPMER_HD SlotMask match(const Bucket& b, Key key) const {
    const __m512i wanted = _mm512_set1_epi64(static_cast<long long>(key));
    SlotMask mask = 0;
    for (int i = 0; i < Width / 8; ++i)
      mask |= static_cast<SlotMask>(_mm512_cmpeq_epi64_mask(b.keys[i], wanted)) << (8 * i);
    return mask;
  }
  WARPMER_HD SlotMask match(const Bucket& b, Key key, Key bits) const {
    const __m512i wanted = _mm512_set1_epi64(static_cast<long long>(key & bits));
    const __m512i looked_at = _mm512_set1_epi64(static_cast<long long>(bits));
    SlotMask mask = 0;
    for (int i = 0; i < Width / 8; ++i) {
      const __m512i seen = _mm512_and_si512(b.keys[i], looked_at);
      mask |= static_cast<SlotMask>(_mm512_cmpeq_epi64_mask(seen, wanted)) << (8 * i);
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
