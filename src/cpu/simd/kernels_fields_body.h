/// Vectors of fields of a few bits each, for kernels_lookup_body.h: what the head of a bucket says of its
/// groups and strings, and the counts of a string. Included before it, with the same rules.

#if defined(__AVX2__)
/// The lengths of the first 32 strings of a bucket, in bytes; 0 behind the last string.
struct StringSizes {
  __m256i left;       ///< bases; those of a large group are one more than any string has
  __m256i base_bits;  ///< of the bases of both flanks
};

[[gnu::always_inline]] inline __m256i set1_byte(std::uint32_t v) {
  return _mm256_set1_epi8(static_cast<char>(v));
}
/// Returns a mask of the first `n` of 32 bytes.
[[gnu::always_inline]] inline __m256i first_bytes(std::uint32_t n) {
  return _mm256_cmpgt_epi8(
      set1_byte(n), _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                                     21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31));
}
[[gnu::always_inline]] inline std::uint32_t sum_of_bytes(__m256i bytes) {
  const __m256i sums = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
  const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  return static_cast<std::uint32_t>(_mm_extract_epi64(two, 0) + _mm_extract_epi64(two, 1));
}
[[gnu::always_inline]] inline bool has_byte(__m256i bytes, std::uint32_t v) {
  return _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, set1_byte(v))) != 0;
}
[[gnu::always_inline]] inline std::uint64_t first_bits(std::uint32_t n) {
  return (std::uint64_t{1} << n) - 1;
}
#endif

#if defined(__AVX512BW__)

/// Takes fields out of a register of 512 bits, from any place: what lies behind them is nonsense.
struct WideFields {
  static constexpr std::uint32_t kHeadBytes = 64;  ///< that are read of a bucket
  static constexpr std::uint32_t kMostGroups = 16;
  static constexpr std::uint32_t kMostBits = 31;  ///< of a field

  /// Returns which of the head's kMostGroups fields from the bit `at` on have this value.
  [[gnu::always_inline]] static inline std::uint64_t equal(const char* head, std::uint32_t at,
                                                           std::uint32_t bits, std::uint32_t value) {
    const __m512i steps = _mm512_mullo_epi32(lanes_32(), set1_32(bits));
    return _mm512_cmpeq_epi32_mask(fields_32(_mm512_loadu_si512(head), at, steps, bits), set1_32(value));
  }

  /// Returns that bit of `flags` below which there are as many as there are bits below the lowest one of
  /// `number`; 0 where there is none.
  [[gnu::always_inline]] static inline std::uint64_t flag_of(std::uint64_t number, std::uint64_t flags) {
    return _pdep_u64(number & -number, flags);
  }

  /// Takes apart the codes of strings, which are fields of the head.
  [[gnu::always_inline]] static inline StringSizes sizes(const char* head, std::uint32_t at,
                                                         std::uint32_t bits, std::uint32_t strings,
                                                         std::uint32_t flank_bases) {
    const __m512i codes = fields_16(_mm512_loadu_si512(head), at, bits);
    const __m256i low = roots(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(codes)));
    __m256i high = _mm256_setzero_si256();
    if (strings > 16) high = roots(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(codes, 1)));
    const __m512i a = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    const __m512i before = _mm512_srli_epi16(_mm512_mullo_epi16(a, _mm512_add_epi16(a, set1_16(1))), 1);
    const __m512i bases = _mm512_add_epi16(_mm512_sub_epi16(codes, before), set1_16(flank_bases));
    const auto those = static_cast<__mmask32>(first_bits(strings));
    return {_mm512_maskz_cvtepi16_epi8(those, a),
            _mm512_maskz_cvtepi16_epi8(those, _mm512_add_epi16(bases, bases))};
  }

  [[gnu::always_inline]] static inline void write_zeros(std::uint32_t n, std::uint32_t* to) {
    for (std::uint32_t i = 0; i < n; i += 16)
      _mm512_mask_storeu_epi32(to + i, first_lanes(n - i), _mm512_setzero_si512());
  }
  /// Writes the sums of `smallest` and `n` fields from a bit on, of at most 504 bits in all; the last one
  /// first where not `is_forward`. Reads up to 64 bytes.
  [[gnu::always_inline]] static inline void write_sums(const char* bytes, std::uint32_t at,
                                                       std::uint32_t bits, std::uint32_t n,
                                                       std::uint32_t smallest, bool is_forward,
                                                       std::uint32_t* to) {
    const char* const packed = bytes + at / 8;
    // No more is read than most have: what lies behind a bucket is not on its way.
    const __m512i data =
        n * bits <= 248 ? _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(packed)))
                        : _mm512_loadu_si512(packed);
    const std::uint32_t first = at % 8 + (is_forward ? 0 : (n - 1) * bits);
    const __m512i step = set1_32(is_forward ? bits : 0 - bits);
    for (std::uint32_t i = 0; i < n; i += 16) {
      const __m512i lane = _mm512_add_epi32(lanes_32(), set1_32(i));
      const __m512i beyond = fields_32(data, first, _mm512_mullo_epi32(lane, step), bits);
      _mm512_mask_storeu_epi32(to + i, first_lanes(n - i), _mm512_add_epi32(beyond, set1_32(smallest)));
    }
  }

 private:
  [[gnu::always_inline]] static inline __m512i lanes_32() {
    return _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  }
  [[gnu::always_inline]] static inline __m512i lanes_16() {
    return _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12,
                            11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  }
  [[gnu::always_inline]] static inline __m512i set1_32(std::uint32_t v) {
    return _mm512_set1_epi32(static_cast<int>(v));
  }
  [[gnu::always_inline]] static inline __m512i set1_16(std::uint32_t v) {
    return _mm512_set1_epi16(static_cast<short>(v));
  }
  /// Returns the mask of the first `n` of 16 lanes, or of all.
  [[gnu::always_inline]] static inline __mmask16 first_lanes(std::uint32_t n) {
    return static_cast<__mmask16>(first_bits(n < 16 ? n : 16));
  }

  /// Returns fields that lie at `at` and the `steps` behind it.
  [[gnu::always_inline]] static inline __m512i fields_32(__m512i from, std::uint32_t at, __m512i steps,
                                                         std::uint32_t bits) {
    const __m512i places = _mm512_add_epi32(set1_32(at), steps);
    const __m512i word = _mm512_srli_epi32(places, 5);
    const __m512i shift = _mm512_and_si512(places, set1_32(31));
    const __m512i low = _mm512_srlv_epi32(_mm512_permutexvar_epi32(word, from), shift);
    const __m512i high = _mm512_sllv_epi32(_mm512_permutexvar_epi32(_mm512_add_epi32(word, set1_32(1)), from),
                                           _mm512_sub_epi32(set1_32(32), shift));
    return _mm512_and_si512(_mm512_or_si512(low, high),
                            set1_32(static_cast<std::uint32_t>(first_bits(bits))));
  }
  /// Returns 32 fields, at most 16 bits each, from a bit on.
  [[gnu::always_inline]] static inline __m512i fields_16(__m512i from, std::uint32_t at, std::uint32_t bits) {
    const __m512i places = _mm512_add_epi16(set1_16(at), _mm512_mullo_epi16(lanes_16(), set1_16(bits)));
    const __m512i word = _mm512_srli_epi16(places, 4);
    const __m512i shift = _mm512_and_si512(places, set1_16(15));
    const __m512i low = _mm512_srlv_epi16(_mm512_permutexvar_epi16(word, from), shift);
    const __m512i high = _mm512_sllv_epi16(_mm512_permutexvar_epi16(_mm512_add_epi16(word, set1_16(1)), from),
                                           _mm512_sub_epi16(set1_16(16), shift));
    return _mm512_and_si512(_mm512_or_si512(low, high),
                            set1_16(static_cast<std::uint32_t>(first_bits(bits))));
  }

  /// Returns a of codes a(a + 1) / 2 to a(a + 3) / 2. The roots of odd squares are exact.
  [[gnu::always_inline]] static inline __m256i roots(__m512i codes) {
    const __m512i square = _mm512_add_epi32(_mm512_slli_epi32(codes, 3), set1_32(1));
    const __m512 root = _mm512_sqrt_ps(_mm512_cvtepi32_ps(square));
    const __m512 half = _mm512_mul_ps(_mm512_sub_ps(root, _mm512_set1_ps(1)), _mm512_set1_ps(0.5F));
    return _mm512_cvtepi32_epi16(_mm512_cvttps_epi32(half));
  }
};
using FieldLanes = WideFields;

#elif defined(__AVX2__)

/// Takes eight fields at a time out of 16 bytes, from any bit of the first of them on.
struct NarrowFields {
  static constexpr std::uint32_t kHeadBytes = 128;  ///< of a bucket, at most, that are read
  static constexpr std::uint32_t kMostGroups = 8;
  static constexpr std::uint32_t kMostBits = 15;  ///< of a field

  /// Returns which of the head's kMostGroups fields from the bit `at` on have this value.
  [[gnu::always_inline]] static inline std::uint64_t equal(const char* head, std::uint32_t at,
                                                           std::uint32_t bits, std::uint32_t value) {
    const __m256i same = _mm256_cmpeq_epi32(fields(head, at, steps_of(bits), bits), set1_32(value));
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(same)));
  }

  /// Returns that bit of `flags` below which there are as many as there are bits below the lowest one of
  /// `number`; 0 where there is none. PDEP would do it, but takes AMD's processors before Zen 3 long.
  [[gnu::always_inline]] static inline std::uint64_t flag_of(std::uint64_t number, std::uint64_t flags) {
    const std::uint32_t passed = groups::trailing_zeros(number | std::uint64_t{1} << 63);
    std::uint64_t left = number == 0 ? 0 : flags;
    for (std::uint32_t i = 0; i + 1 < kMostGroups; ++i) left = i < passed ? left & (left - 1) : left;
    return left & -left;
  }

  /// Takes apart the codes of strings, which are fields of the head.
  [[gnu::always_inline]] static inline StringSizes sizes(const char* head, std::uint32_t at,
                                                         std::uint32_t bits, std::uint32_t strings,
                                                         std::uint32_t flank_bases) {
    const __m256i steps = steps_of(bits);
    __m256i left[4], base_bits[4];
    for (std::uint32_t i = 0; i < 4; ++i) {
      const __m256i code = fields(head, at + 8 * i * bits, steps, bits);
      left[i] = roots(code);
      const __m256i next = _mm256_add_epi32(left[i], set1_32(1));
      const __m256i before = _mm256_srli_epi32(_mm256_mullo_epi16(left[i], next), 1);
      const __m256i bases = _mm256_add_epi32(_mm256_sub_epi32(code, before), set1_32(flank_bases));
      base_bits[i] = _mm256_add_epi32(bases, bases);
    }
    const __m256i those = first_bytes(strings);
    return {_mm256_and_si256(bytes_of(left), those), _mm256_and_si256(bytes_of(base_bits), those)};
  }

  [[gnu::always_inline]] static inline void write_zeros(std::uint32_t n, std::uint32_t* to) {
    for (std::uint32_t i = 0; i < n; i += 8) store_first(n - i, _mm256_setzero_si256(), to + i);
  }
  /// Writes the sums of `smallest` and `n` fields from a bit on, of at most 504 bits in all; the last one
  /// first where not `is_forward`. Reads up to 64 bytes, and 16 behind the last field's first.
  [[gnu::always_inline]] static inline void write_sums(const char* bytes, std::uint32_t at,
                                                       std::uint32_t bits, std::uint32_t n,
                                                       std::uint32_t smallest, bool is_forward,
                                                       std::uint32_t* to) {
    const __m256i steps = steps_of(bits);
    for (std::uint32_t i = 0; i < n; i += 8) {
      // Backwards, lane 0 takes field n - 1 - i, and those before lie in the lanes behind it.
      const std::uint32_t highest = n - 1 - i, lowest = highest < 7 ? 0 : highest - 7;
      const __m256i back = _mm256_sub_epi32(set1_32((highest - lowest) * bits), steps);
      const __m256i beyond =
          fields(bytes, at + (is_forward ? i : lowest) * bits, is_forward ? steps : back, bits);
      store_first(n - i, _mm256_add_epi32(beyond, set1_32(smallest)), to + i);
    }
  }

 private:
  [[gnu::always_inline]] static inline __m256i lanes() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
  [[gnu::always_inline]] static inline __m256i set1_32(std::uint32_t v) {
    return _mm256_set1_epi32(static_cast<int>(v));
  }
  [[gnu::always_inline]] static inline __m256i steps_of(std::uint32_t bits) {
    return _mm256_mullo_epi16(lanes(), set1_32(bits));
  }
  [[gnu::always_inline]] static inline void store_first(std::uint32_t n, __m256i v, std::uint32_t* to) {
    const __m256i those = _mm256_cmpgt_epi32(set1_32(n), lanes());
    _mm256_maskstore_epi32(reinterpret_cast<int*>(to), those, v);
  }

  /// Returns fields that lie at the bit `at` and the `steps` behind it.
  [[gnu::always_inline]] static inline __m256i fields(const char* bytes, std::uint32_t at, __m256i steps,
                                                      std::uint32_t bits) {
    const __m256i from =
        _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + at / 8)));
    const __m256i places = _mm256_add_epi32(set1_32(at % 8), steps);
    // Each lane takes four bytes: a field, and what lies around it.
    const __m256i first_byte = _mm256_shuffle_epi8(
        _mm256_srli_epi32(places, 3),
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12)));
    const __m256i words = _mm256_shuffle_epi8(from, _mm256_add_epi8(first_byte, set1_32(0x03020100)));
    const __m256i fields = _mm256_srlv_epi32(words, _mm256_and_si256(places, set1_32(7)));
    return _mm256_and_si256(fields, set1_32(static_cast<std::uint32_t>(first_bits(bits))));
  }

  /// Returns a of codes a(a + 1) / 2 to a(a + 3) / 2. The roots of odd squares are exact.
  [[gnu::always_inline]] static inline __m256i roots(__m256i codes) {
    const __m256i square = _mm256_add_epi32(_mm256_slli_epi32(codes, 3), set1_32(1));
    const __m256 root = _mm256_sqrt_ps(_mm256_cvtepi32_ps(square));
    return _mm256_cvttps_epi32(_mm256_mul_ps(_mm256_sub_ps(root, _mm256_set1_ps(1)), _mm256_set1_ps(0.5F)));
  }
  /// Returns 32 numbers as bytes. Those above 255 become 255.
  [[gnu::always_inline]] static inline __m256i bytes_of(const __m256i (&numbers)[4]) {
    const __m256i halves = _mm256_packus_epi16(_mm256_packus_epi32(numbers[0], numbers[1]),
                                               _mm256_packus_epi32(numbers[2], numbers[3]));
    return _mm256_permutevar8x32_epi32(halves, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }
};
using FieldLanes = NarrowFields;

#endif
