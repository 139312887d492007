/// Vectors of pieces of text, one a lane, for kernels_flanked_body.h: as many lanes of 64 bits as a register
/// has that shifts them by different numbers, or one. Included before it, with the same rules.

#if defined(__AVX512F__)
constexpr int kPieceLanes = 8;
#elif defined(__AVX2__)
constexpr int kPieceLanes = 4;
#else
constexpr int kPieceLanes = 1;
#endif

#if defined(__AVX2__)
using PieceLanes = std::uint64_t __attribute__((vector_size(8 * kPieceLanes)));
using PieceSigned = std::int64_t __attribute__((vector_size(8 * kPieceLanes)));
using PieceLanes32 = std::uint32_t __attribute__((vector_size(4 * kPieceLanes)));
using PieceLanes16 = std::uint16_t __attribute__((vector_size(2 * kPieceLanes)));
using PieceLanes8 = std::uint8_t __attribute__((vector_size(kPieceLanes)));

template <class To, class From>
[[gnu::always_inline]] inline To convert_lanes(From v) {
  return __builtin_convertvector(v, To);
}
#else
using PieceLanes = std::uint64_t;
using PieceLanes32 = std::uint32_t;
using PieceLanes16 = std::uint16_t;
using PieceLanes8 = std::uint8_t;
using PieceSigned = std::int64_t;

template <class To, class From>
[[gnu::always_inline]] inline To convert_lanes(From v) {
  return static_cast<To>(v);
}
#endif

[[gnu::always_inline]] inline PieceLanes load_pieces(const std::uint32_t* p) {
  PieceLanes32 v;
  __builtin_memcpy(&v, p, sizeof v);
  return convert_lanes<PieceLanes>(v);
}
template <class Lanes>
[[gnu::always_inline]] inline void store_pieces(void* p, Lanes v) {
  __builtin_memcpy(p, &v, sizeof v);
}

// Shifts of lanes by their own counts, and of all by one. Counts of 64 and more, as negative ones are, leave
// nothing.
#if defined(__AVX512F__)
[[gnu::always_inline]] inline PieceLanes up(PieceLanes v, PieceLanes counts) {
  return (PieceLanes)_mm512_sllv_epi64((__m512i)v, (__m512i)counts);
}
[[gnu::always_inline]] inline PieceLanes down(PieceLanes v, PieceLanes counts) {
  return (PieceLanes)_mm512_srlv_epi64((__m512i)v, (__m512i)counts);
}
[[gnu::always_inline]] inline PieceLanes up(PieceLanes v, std::int32_t count) {
  return (PieceLanes)_mm512_sll_epi64((__m512i)v, _mm_cvtsi64_si128(count));
}
[[gnu::always_inline]] inline PieceLanes down(PieceLanes v, std::int32_t count) {
  return (PieceLanes)_mm512_srl_epi64((__m512i)v, _mm_cvtsi64_si128(count));
}
#elif defined(__AVX2__)
[[gnu::always_inline]] inline PieceLanes up(PieceLanes v, PieceLanes counts) {
  return (PieceLanes)_mm256_sllv_epi64((__m256i)v, (__m256i)counts);
}
[[gnu::always_inline]] inline PieceLanes down(PieceLanes v, PieceLanes counts) {
  return (PieceLanes)_mm256_srlv_epi64((__m256i)v, (__m256i)counts);
}
[[gnu::always_inline]] inline PieceLanes up(PieceLanes v, std::int32_t count) {
  return (PieceLanes)_mm256_sll_epi64((__m256i)v, _mm_cvtsi64_si128(count));
}
[[gnu::always_inline]] inline PieceLanes down(PieceLanes v, std::int32_t count) {
  return (PieceLanes)_mm256_srl_epi64((__m256i)v, _mm_cvtsi64_si128(count));
}
#else
[[gnu::always_inline]] inline PieceLanes up(PieceLanes v, PieceLanes count) {
  return count < 64 ? v << (count & 63) : 0;
}
[[gnu::always_inline]] inline PieceLanes down(PieceLanes v, PieceLanes count) {
  return count < 64 ? v >> (count & 63) : 0;
}
[[gnu::always_inline]] inline PieceLanes up(PieceLanes v, std::int32_t count) {
  return up(v, static_cast<PieceLanes>(std::int64_t{count}));
}
[[gnu::always_inline]] inline PieceLanes down(PieceLanes v, std::int32_t count) {
  return down(v, static_cast<PieceLanes>(std::int64_t{count}));
}
#endif

[[gnu::always_inline]] inline PieceLanes reverse_pairs_lanes(PieceLanes x) {
#if defined(__AVX2__)
  x = ((x >> 2) & 0x3333333333333333u) | ((x & 0x3333333333333333u) << 2);
  x = ((x >> 4) & 0x0F0F0F0F0F0F0F0Fu) | ((x & 0x0F0F0F0F0F0F0F0Fu) << 4);
  const __m128i bytes = _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
#if defined(__AVX512F__)
  return (PieceLanes)_mm512_shuffle_epi8((__m512i)x, _mm512_broadcast_i32x4(bytes));
#else
  return (PieceLanes)_mm256_shuffle_epi8((__m256i)x, _mm256_broadcastsi128_si256(bytes));
#endif
#else
  return reverse_pairs(x);
#endif
}

// Between pieces of `Words` words one behind the other, and vectors of all their first words, all their
// second, and so on.
#if defined(__AVX512F__)
template <int Words>
[[gnu::always_inline]] inline void load_words(const std::uint64_t* from, PieceLanes (&words)[Words]) {
  const __m512i a = _mm512_loadu_si512(from), b = _mm512_loadu_si512(from + 8);
  if constexpr (Words == 2) {
    words[0] = (PieceLanes)_mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), b);
    words[1] = (PieceLanes)_mm512_permutex2var_epi64(a, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), b);
  } else {
    const __m512i c = _mm512_loadu_si512(from + 16), d = _mm512_loadu_si512(from + 24);
    const __m512i lower = _mm512_setr_epi64(0, 4, 8, 12, 1, 5, 9, 13);
    const __m512i upper = _mm512_setr_epi64(2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i ab = _mm512_permutex2var_epi64(a, lower, b), cd = _mm512_permutex2var_epi64(c, lower, d);
    words[0] = (PieceLanes)_mm512_shuffle_i64x2(ab, cd, 0x44);
    words[1] = (PieceLanes)_mm512_shuffle_i64x2(ab, cd, 0xEE);
    const __m512i ef = _mm512_permutex2var_epi64(a, upper, b), gh = _mm512_permutex2var_epi64(c, upper, d);
    words[2] = (PieceLanes)_mm512_shuffle_i64x2(ef, gh, 0x44);
    words[3] = (PieceLanes)_mm512_shuffle_i64x2(ef, gh, 0xEE);
  }
}
template <int Words>
[[gnu::always_inline]] inline void store_words(groups::FlankedWord<Words>* to,
                                               const PieceLanes (&words)[Words]) {
  const auto a = (__m512i)words[0], b = (__m512i)words[1];
  if constexpr (Words == 2) {
    const __m512i lower = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const __m512i upper = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi64(a, lower, b));
    _mm512_storeu_si512(to + 4, _mm512_permutex2var_epi64(a, upper, b));
  } else {
    const auto c = (__m512i)words[2], d = (__m512i)words[3];
    const __m512i lower = _mm512_setr_epi64(0, 4, 8, 12, 1, 5, 9, 13);
    const __m512i upper = _mm512_setr_epi64(2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i ab = _mm512_shuffle_i64x2(a, b, 0x44), cd = _mm512_shuffle_i64x2(c, d, 0x44);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi64(ab, lower, cd));
    _mm512_storeu_si512(to + 2, _mm512_permutex2var_epi64(ab, upper, cd));
    const __m512i ef = _mm512_shuffle_i64x2(a, b, 0xEE), gh = _mm512_shuffle_i64x2(c, d, 0xEE);
    _mm512_storeu_si512(to + 4, _mm512_permutex2var_epi64(ef, lower, gh));
    _mm512_storeu_si512(to + 6, _mm512_permutex2var_epi64(ef, upper, gh));
  }
}
#elif defined(__AVX2__)
/// Rows into columns: four vectors of four.
[[gnu::always_inline]] inline void transpose(__m256i (&v)[4]) {
  const __m256i a = _mm256_unpacklo_epi64(v[0], v[1]), b = _mm256_unpackhi_epi64(v[0], v[1]);
  const __m256i c = _mm256_unpacklo_epi64(v[2], v[3]), d = _mm256_unpackhi_epi64(v[2], v[3]);
  v[0] = _mm256_permute2x128_si256(a, c, 0x20);
  v[1] = _mm256_permute2x128_si256(b, d, 0x20);
  v[2] = _mm256_permute2x128_si256(a, c, 0x31);
  v[3] = _mm256_permute2x128_si256(b, d, 0x31);
}
template <int Words>
[[gnu::always_inline]] inline void load_words(const std::uint64_t* from, PieceLanes (&words)[Words]) {
  const auto* v = reinterpret_cast<const __m256i*>(from);
  if constexpr (Words == 2) {
    const __m256i a = _mm256_loadu_si256(v), b = _mm256_loadu_si256(v + 1);
    const __m256i even = _mm256_permute2x128_si256(a, b, 0x20), odd = _mm256_permute2x128_si256(a, b, 0x31);
    words[0] = (PieceLanes)_mm256_unpacklo_epi64(even, odd);
    words[1] = (PieceLanes)_mm256_unpackhi_epi64(even, odd);
  } else {
    __m256i rows[4];
    for (int i = 0; i < 4; ++i) rows[i] = _mm256_loadu_si256(v + i);
    transpose(rows);
    for (int i = 0; i < 4; ++i) words[i] = (PieceLanes)rows[i];
  }
}
template <int Words>
[[gnu::always_inline]] inline void store_words(groups::FlankedWord<Words>* to,
                                               const PieceLanes (&words)[Words]) {
  auto* v = reinterpret_cast<__m256i*>(to);
  if constexpr (Words == 2) {
    const auto a = (__m256i)words[0], b = (__m256i)words[1];
    const __m256i even = _mm256_unpacklo_epi64(a, b), odd = _mm256_unpackhi_epi64(a, b);
    _mm256_storeu_si256(v, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256(v + 1, _mm256_permute2x128_si256(even, odd, 0x31));
  } else {
    __m256i columns[4];
    for (int i = 0; i < 4; ++i) columns[i] = (__m256i)words[i];
    transpose(columns);
    for (int i = 0; i < 4; ++i) _mm256_storeu_si256(v + i, columns[i]);
  }
}
#else
template <int Words>
[[gnu::always_inline]] inline void load_words(const std::uint64_t* from, PieceLanes (&words)[Words]) {
  for (int i = 0; i < Words; ++i) words[i] = from[i];
}
template <int Words>
[[gnu::always_inline]] inline void store_words(groups::FlankedWord<Words>* to,
                                               const PieceLanes (&words)[Words]) {
  for (int i = 0; i < Words; ++i) to->word[i] = words[i];
}
#endif
