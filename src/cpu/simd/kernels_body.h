/// The kernels' one source, included once by each kernels_<isa>.cpp inside an unnamed namespace.
/// No include guard, no includes: the including file brings what is needed (kernels.h,
/// groups/string_lookup.h, kmer/minimizer.h, <immintrin.h> where it applies), so that nothing here can
/// end up outside the unnamed namespace. Loops over `Lanes32` and `Lanes64` are GCC vectors of one
/// cache line: the compiler splits them where registers are smaller. They come from memory and go there by
/// load() and store() alone: through a pointer to a vector, clang may take the address to be one of 64 bytes.

using Lanes32 = std::uint32_t __attribute__((vector_size(64), aligned(4), may_alias));
using HalfLanes32 = std::uint32_t __attribute__((vector_size(32), aligned(4), may_alias));
using Lanes64 = std::uint64_t __attribute__((vector_size(64), aligned(8), may_alias));

constexpr Lanes32 kTwiceIota32 = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
constexpr Lanes64 kIota64 = {0, 1, 2, 3, 4, 5, 6, 7};

[[gnu::always_inline]] inline Lanes32 load(const std::uint32_t* p) {
  Lanes32 v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
[[gnu::always_inline]] inline Lanes64 load(const std::uint64_t* p) {
  Lanes64 v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
[[gnu::always_inline]] inline void store(std::uint32_t* p, Lanes32 v) { __builtin_memcpy(p, &v, sizeof v); }
[[gnu::always_inline]] inline void store(std::uint32_t* p, HalfLanes32 v) {
  __builtin_memcpy(p, &v, sizeof v);
}
[[gnu::always_inline]] inline void store(std::uint64_t* p, Lanes64 v) { __builtin_memcpy(p, &v, sizeof v); }
[[gnu::always_inline]] inline void store(std::uint64_t* p, std::uint64_t v) { *p = v; }

/// Returns 64 bits of a packed text, from any bit on.
[[gnu::always_inline]] inline std::uint64_t bits_from(const std::uint64_t* packed, std::size_t bit) {
  const std::size_t word = bit / 64, shift = bit % 64;
  return (packed[word] >> shift) | ((packed[word + 1] << 1) << (63 - shift));
}

// ---------------------------------------------------------------------------------------------
// Packing: 64 characters at a time.

struct PackedGroup {
  std::uint64_t low, high;  ///< bases 0 to 31 and 32 to 63
  std::uint64_t breaks;
};

// By the low four bits of a character: the base that has them (in upper case), and its code. Entries
// of other nibbles hold a character that has different low bits, so that nothing can equal it.
#define WARPMER_BASE_BY_NIBBLE 1, 'A', 0, 'C', 'T', 'U', 0, 'G', 0, 0, 0, 0, 0, 0, 0, 0
#define WARPMER_CODE_BY_NIBBLE 0, 0, 0, 1, 3, 3, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0

#if defined(__AVX512BW__)

[[gnu::always_inline]] inline PackedGroup pack_group(const char* text) {
  const __m512i bases = _mm512_broadcast_i32x4(_mm_setr_epi8(WARPMER_BASE_BY_NIBBLE));
  const __m512i codes = _mm512_broadcast_i32x4(_mm_setr_epi8(WARPMER_CODE_BY_NIBBLE));
  const __m512i c = _mm512_loadu_si512(text);
  const __m512i nibble = _mm512_and_si512(c, _mm512_set1_epi8(0x0F));
  const __m512i upper = _mm512_and_si512(c, _mm512_set1_epi8(static_cast<char>(0xDF)));
  const __mmask64 base = _mm512_cmpeq_epi8_mask(upper, _mm512_shuffle_epi8(bases, nibble));
  const __m512i code = _mm512_shuffle_epi8(codes, nibble);
  const __m512i pairs = _mm512_maddubs_epi16(code, _mm512_set1_epi16(0x0401));
  const __m512i quads = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x00100001));
  const __m128i bytes = _mm512_cvtepi32_epi8(quads);
  return {static_cast<std::uint64_t>(_mm_cvtsi128_si64(bytes)),
          static_cast<std::uint64_t>(_mm_extract_epi64(bytes, 1)), ~static_cast<std::uint64_t>(base)};
}

#elif defined(__AVX2__)

[[gnu::always_inline]] inline std::uint64_t pack_32(const char* text, std::uint32_t& breaks) {
  const __m256i bases = _mm256_broadcastsi128_si256(_mm_setr_epi8(WARPMER_BASE_BY_NIBBLE));
  const __m256i codes = _mm256_broadcastsi128_si256(_mm_setr_epi8(WARPMER_CODE_BY_NIBBLE));
  const __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text));
  const __m256i nibble = _mm256_and_si256(c, _mm256_set1_epi8(0x0F));
  const __m256i upper = _mm256_and_si256(c, _mm256_set1_epi8(static_cast<char>(0xDF)));
  const __m256i base = _mm256_cmpeq_epi8(upper, _mm256_shuffle_epi8(bases, nibble));
  breaks = ~static_cast<std::uint32_t>(_mm256_movemask_epi8(base));
  const __m256i code = _mm256_shuffle_epi8(codes, nibble);
  const __m256i pairs = _mm256_maddubs_epi16(code, _mm256_set1_epi16(0x0401));
  const __m256i quads = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00100001));
  const __m256i low_bytes =
      _mm256_shuffle_epi8(quads, _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1,
                                                                           -1, -1, -1, -1, -1, -1, -1)));
  const auto low = static_cast<std::uint32_t>(_mm256_extract_epi32(low_bytes, 0));
  const auto high = static_cast<std::uint32_t>(_mm256_extract_epi32(low_bytes, 4));
  return (std::uint64_t{high} << 32) | low;
}

[[gnu::always_inline]] inline PackedGroup pack_group(const char* text) {
  std::uint32_t breaks_low = 0, breaks_high = 0;
  const std::uint64_t low = pack_32(text, breaks_low);
  const std::uint64_t high = pack_32(text + 32, breaks_high);
  return {low, high, (std::uint64_t{breaks_high} << 32) | breaks_low};
}

#elif defined(__SSSE3__)

[[gnu::always_inline]] inline std::uint32_t pack_16(const char* text, std::uint32_t& breaks) {
  const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text));
  const __m128i nibble = _mm_and_si128(c, _mm_set1_epi8(0x0F));
  const __m128i upper = _mm_and_si128(c, _mm_set1_epi8(static_cast<char>(0xDF)));
  const __m128i base = _mm_cmpeq_epi8(upper, _mm_shuffle_epi8(_mm_setr_epi8(WARPMER_BASE_BY_NIBBLE), nibble));
  breaks = static_cast<std::uint32_t>(_mm_movemask_epi8(base)) ^ 0xFFFFu;
  const __m128i code = _mm_shuffle_epi8(_mm_setr_epi8(WARPMER_CODE_BY_NIBBLE), nibble);
  const __m128i pairs = _mm_maddubs_epi16(code, _mm_set1_epi16(0x0401));
  const __m128i quads = _mm_madd_epi16(pairs, _mm_set1_epi32(0x00100001));
  const __m128i bytes =
      _mm_shuffle_epi8(quads, _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(bytes));
}

[[gnu::always_inline]] inline PackedGroup pack_group(const char* text) {
  std::uint64_t packed[4], breaks = 0;
  for (int i = 0; i < 4; ++i) {
    std::uint32_t part = 0;
    packed[i] = pack_16(text + 16 * i, part);
    breaks |= std::uint64_t{part} << (16 * i);
  }
  return {packed[0] | (packed[1] << 32), packed[2] | (packed[3] << 32), breaks};
}

#else

[[gnu::always_inline]] inline PackedGroup pack_group(const char* text) {
  PackedGroup group{0, 0, 0};
  for (int i = 0; i < 64; ++i) {
    if (char_class(text[i]) != CharClass::base) {
      group.breaks |= std::uint64_t{1} << i;
    } else {
      (i < 32 ? group.low : group.high) |= std::uint64_t{base_code(text[i])} << (2 * (i % 32));
    }
  }
  return group;
}

#endif

bool pack(const char* text, std::size_t length, std::uint64_t* packed, std::uint64_t* breaks) {
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < length; i += 64) {
    const PackedGroup group = pack_group(text + i);
    packed[i / 32] = group.low;
    packed[i / 32 + 1] = group.high;
    // Text past the end is none of ours.
    const std::size_t rest = length - i;
    breaks[i / 64] = rest >= 64 ? group.breaks : group.breaks & ((std::uint64_t{1} << rest) - 1);
    any |= breaks[i / 64];
  }
  return any != 0;
}

// ---------------------------------------------------------------------------------------------
// Counting.

/// Takes words apart into the hashes of their k-mers' keys (groups/group_key.h). A k-mer's flanks are the end
/// of the left flank and the beginning of the right one: two constants, shifted by the number of the k-mer.
template <class Key, int Words>
class WordExpander {
 public:
  [[gnu::always_inline]] inline explicit WordExpander(std::uint32_t k)
      : k_(k), n_(k - minimizer_length(k)), length_bits_(groups::bits_of(n_)) {
    rest_bits_ = 2 * minimizer_length(k) - kShardBits;
    head_bits_ = rest_bits_ + 2 * length_bits_;
  }

  /// Returns the number of k-mers. `hashes` has room for 8 more.
  [[gnu::always_inline]] inline std::uint32_t expand(const StoredFlankedWord<Words>& word,
                                                     Key* hashes) const {
    const std::uint64_t head = word.word[0], length_mask = (std::uint64_t{1} << length_bits_) - 1;
    const auto right_bases = static_cast<std::uint32_t>(head & length_mask);
    const auto left_bases = static_cast<std::uint32_t>(head >> length_bits_ & length_mask);
    const std::uint64_t rest = head >> (2 * length_bits_) & ((std::uint64_t{1} << rest_bits_) - 1);
    const Flank left = flank(word, head_bits_, left_bases);
    const Flank right = flank(word, head_bits_ + 2 * left_bases, right_bases);
    const std::uint32_t kmers = left_bases + right_bases - n_ + 1;
    make_hashes({left, reversed(right, right_bases), rest, left_bases, kmers}, hashes);
    return kmers;
  }

 private:
  using Flank = std::conditional_t<Words == 2, Key64, Key128>;

  /// The k-mers of a word: both flanks with their first base most significant.
  struct Kmers {
    Flank left, right;
    std::uint64_t rest;
    std::uint32_t left_bases, kmers;
  };

  /// Returns `bases` bases from bit `at` on. (StoredFlankedFormat has it, too, but not always inlined.)
  [[gnu::always_inline]] inline static Flank flank(const StoredFlankedWord<Words>& word, std::uint32_t at,
                                                   std::uint32_t bases) {
    Key128 from;
    if constexpr (Words == 2) {
      __builtin_memcpy(&from, word.word, sizeof from);
    } else {
      const std::uint32_t byte = at / 8 < sizeof from ? at / 8 : sizeof from;
      __builtin_memcpy(&from, reinterpret_cast<const char*>(word.word) + byte, sizeof from);
      at -= 8 * byte;
    }
    return static_cast<Flank>(from >> at) & key_mask<Flank>(bases);
  }
  [[gnu::always_inline]] inline static Flank reversed(Flank right, std::uint32_t bases) {
    if constexpr (Words == 2) {
      return bases == 0 ? 0 : reverse_pairs(right) >> (64 - 2 * bases);
    } else {
      const Flank all = (Flank{reverse_pairs(static_cast<std::uint64_t>(right))} << 64) |
                        reverse_pairs(static_cast<std::uint64_t>(right >> 64));
      return bases == 0 ? 0 : all >> (128 - 2 * bases);
    }
  }

  /// Does it eight at a time where 64-bit lanes can be multiplied, else one by one.
  [[gnu::always_inline]] inline void make_hashes(const Kmers& of, Key* hashes) const {
#if defined(__AVX512DQ__)
    if constexpr (sizeof(Key) == 8) return make_lanes(of, kIota64, hashes);
#endif
    if constexpr (sizeof(Key) == 8) {
      make_lanes(of, std::uint64_t{0}, hashes);
    } else {
      const Key top = Key{of.rest} << (length_bits_ + 2 * n_), mask = key_mask<Key>(n_);
      const Key all = key_mask<Key>(k_);
      for (std::uint32_t i = 0; i < of.kmers; ++i) {
        const std::uint32_t layer = of.left_bases - i;
        const Key flanks =
            ((Key{of.left} << (2 * (n_ - layer))) | (Key{of.right} >> (2 * (of.kmers - 1 - i)))) & mask;
        Key x = ((top | (Key{layer} << (2 * n_)) | flanks) * detail::Multipliers<Key>::kFirst) & all;
        x ^= x >> k_;
        hashes[i] = (x * detail::Multipliers<Key>::kSecond) & all;
      }
    }
  }
  /// `lanes` are the numbers of as many k-mers as are made at a time.
  template <class Lanes>
  [[gnu::always_inline]] inline void make_lanes(const Kmers& of, const Lanes lanes, Key64* hashes) const {
    const std::uint64_t mask = key_mask<Key64>(n_), all = key_mask<Key64>(k_);
    const std::uint64_t layer_at = 2 * std::uint64_t{n_};
    const std::uint64_t top =
        (of.rest << (length_bits_ + layer_at)) + (std::uint64_t{of.left_bases} << layer_at);
    const std::uint64_t first_up = 2 * std::uint64_t{n_ - of.left_bases},
                        first_down = 2 * std::uint64_t{of.kmers - 1};
    for (std::uint64_t i = 0; i < of.kmers; i += sizeof(Lanes) / 8) {
      // Lanes past the last k-mer shift by nonsense that is still in range.
      const Lanes number = lanes + i, up = (first_up + 2 * number) & 63,
                  down = (first_down - 2 * number) & 63;
      const Lanes flanks = (((Lanes{} + of.left) << up) | ((Lanes{} + of.right) >> down)) & mask;
      Lanes x = (((top - (number << layer_at)) | flanks) * detail::Multipliers<Key64>::kFirst) & all;
      x ^= x >> k_;
      store(hashes + i, (x * detail::Multipliers<Key64>::kSecond) & all);
    }
  }

  std::uint32_t k_, n_, length_bits_, rest_bits_, head_bits_;
};

template <class Key, int Words>
void append(const StoredFlankedWord<Words>* words, const std::uint32_t* counts, std::size_t n,
            std::uint32_t k, HashList<Key>& list) {
  const WordExpander<Key, Words> expander(k);
  std::size_t size = list.size;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t weight = counts == nullptr ? 1 : counts[i];
    const std::uint32_t kmers = expander.expand(words[i], list.keys + size);
    for (std::uint32_t j = 0; j < kmers; j += 8) store(list.weights + size + j, HalfLanes32{} + weight);
    list.weights_or |= weight;
    size += kmers;
  }
  list.size = size;
}

// ---------------------------------------------------------------------------------------------
// Counting without a table: hashes into buckets by their top bits, then sorting bucket by bucket.

template <class Key>
void place(const HashList<Key>& list, Buckets<Key>& buckets) {
  std::uint32_t* const cursor = buckets.ends;
  const std::size_t number = std::size_t{1} << buckets.bits;
  for (std::size_t b = 0; b < number; ++b) cursor[b] = 0;
  const std::uint32_t rest_bits = buckets.rest_bits;
  for (std::size_t i = 0; i < list.size; ++i) ++cursor[static_cast<std::size_t>(list.keys[i] >> rest_bits)];
  std::uint32_t begin = 0;
  for (std::size_t b = 0; b < number; ++b) {
    const std::uint32_t size = cursor[b];
    cursor[b] = begin;
    begin += size;
  }
  // A cursor that has placed its bucket's entries stands at the bucket's end.
  const Key rest_mask = (Key{1} << rest_bits) - 1;
  for (std::size_t i = 0; i < list.size; ++i) {
    const Key key = list.keys[i];
    buckets.entries[cursor[static_cast<std::size_t>(key >> rest_bits)]++] =
        ((key & rest_mask) << buckets.weight_bits) | list.weights[i];
  }
}

template <class Key>
[[gnu::always_inline]] inline void insertion_sort(Key* entries, std::size_t n) {
  for (std::size_t i = 1; i < n; ++i) {
    const Key entry = entries[i];
    std::size_t to = i;
    for (; to > 0 && entry < entries[to - 1]; --to) entries[to] = entries[to - 1];
    entries[to] = entry;
  }
}

#if defined(__AVX512F__)

/// Sorting networks over vectors of eight keys, bitonic.
[[gnu::always_inline]] inline __m512i order_pairs(__m512i v, __m512i partner, __mmask8 larger) {
  return _mm512_mask_max_epu64(_mm512_min_epu64(v, partner), larger, v, partner);
}
[[gnu::always_inline]] inline __m512i reverse_lanes(__m512i v) {
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), v);
}
/// Sorts a bitonic vector.
[[gnu::always_inline]] inline __m512i merge_lanes(__m512i v) {
  v = order_pairs(v, _mm512_shuffle_i64x2(v, v, 0x4E), 0xF0);
  v = order_pairs(v, _mm512_permutex_epi64(v, 0x4E), 0xCC);
  return order_pairs(v, _mm512_shuffle_epi32(v, _MM_PERM_BADC), 0xAA);
}
[[gnu::always_inline]] inline __m512i sort_lanes(__m512i v) {
  v = order_pairs(v, _mm512_shuffle_epi32(v, _MM_PERM_BADC), 0xAA);
  v = order_pairs(v, _mm512_permutex_epi64(v, 0x1B), 0xCC);
  v = order_pairs(v, _mm512_shuffle_epi32(v, _MM_PERM_BADC), 0xAA);
  v = order_pairs(v, reverse_lanes(v), 0xF0);
  v = order_pairs(v, _mm512_permutex_epi64(v, 0x4E), 0xCC);
  return order_pairs(v, _mm512_shuffle_epi32(v, _MM_PERM_BADC), 0xAA);
}

/// Sorts the vectors v[0, Vectors), whose lower and upper halves are sorted.
template <int Vectors>
[[gnu::always_inline]] inline void merge_vectors(__m512i* v) {
  if constexpr (Vectors == 1) {
    *v = merge_lanes(*v);
  } else {
    for (int i = 0; i < Vectors / 2; ++i) {
      const __m512i low = v[i], high = v[i + Vectors / 2];
      v[i] = _mm512_min_epu64(low, high);
      v[i + Vectors / 2] = _mm512_max_epu64(low, high);
    }
    merge_vectors<Vectors / 2>(v);
    merge_vectors<Vectors / 2>(v + Vectors / 2);
  }
}
template <int Vectors>
[[gnu::always_inline]] inline void sort_vectors(__m512i* v) {
  if constexpr (Vectors == 1) {
    *v = sort_lanes(*v);
  } else {
    sort_vectors<Vectors / 2>(v);
    sort_vectors<Vectors / 2>(v + Vectors / 2);
    // The upper half reversed makes the whole bitonic.
    __m512i upper[Vectors / 2];
    for (int i = 0; i < Vectors / 2; ++i) upper[i] = reverse_lanes(v[Vectors - 1 - i]);
    for (int i = 0; i < Vectors / 2; ++i) v[Vectors / 2 + i] = upper[i];
    merge_vectors<Vectors>(v);
  }
}

template <int Vectors>
[[gnu::always_inline]] inline void sort_in_vectors(Key64* entries, std::size_t n) {
  __m512i v[Vectors];
  const std::uint64_t mask = (std::uint64_t{1} << n) - 1;
  const __m512i last = _mm512_set1_epi64(-1);
  for (int i = 0; i < Vectors; ++i)
    v[i] = _mm512_mask_loadu_epi64(last, static_cast<__mmask8>(mask >> (8 * i)), entries + 8 * i);
  sort_vectors<Vectors>(v);
  for (int i = 0; i < Vectors; ++i)
    _mm512_mask_storeu_epi64(entries + 8 * i, static_cast<__mmask8>(mask >> (8 * i)), v[i]);
}

[[gnu::always_inline]] inline void sort_bucket(const Buckets<Key64>& buckets, Key64* entries, std::size_t n) {
  if (n <= 32) {
    sort_in_vectors<4>(entries, n);
  } else {
    buckets.sort(entries, entries + n);
  }
}

#endif

template <class Key>
[[gnu::always_inline]] inline void sort_bucket(const Buckets<Key>& buckets, Key* entries, std::size_t n) {
  if (n <= 16) {
    insertion_sort(entries, n);
  } else {
    buckets.sort(entries, entries + n);
  }
}

/// Reduces one bucket, of any size.
template <class Key>
[[gnu::always_inline]] inline std::size_t reduce_bucket(const Buckets<Key>& buckets, std::size_t number,
                                                        std::size_t begin, Key* keys, std::uint64_t* counts) {
  const std::size_t n = buckets.ends[number] - begin;
  Key* const entries = buckets.entries + begin;
  sort_bucket(buckets, entries, n);
  const Key top = Key{number} << buckets.rest_bits;
  const std::uint64_t weight_mask = (std::uint64_t{1} << buckets.weight_bits) - 1;
  std::size_t size = 0;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Key rest = entries[i] >> buckets.weight_bits;
    count += static_cast<std::uint64_t>(entries[i]) & weight_mask;
    keys[size] = top | rest;
    counts[size] = count;
    if (i + 1 == n || entries[i + 1] >> buckets.weight_bits != rest) {
      ++size;
      count = 0;
    }
  }
  return size;
}

template <class Key>
std::size_t reduce(const Buckets<Key>& buckets, Key* keys, std::uint64_t* counts) {
  std::size_t size = 0, begin = 0;
  for (std::size_t b = 0; b < std::size_t{1} << buckets.bits; ++b) {
    size += reduce_bucket(buckets, b, begin, keys + size, counts + size);
    begin = buckets.ends[b];
  }
  return size;
}

#if defined(__AVX512F__)

/// Returns where runs of equals end in a sorted vector, followed by `next`.
[[gnu::always_inline]] inline __mmask8 ends_of_runs(__m512i rests, __m512i next) {
  return _mm512_cmpneq_epi64_mask(rests, _mm512_alignr_epi64(next, rests, 1));
}
/// Returns, in each lane, the sum of it and all before it.
[[gnu::always_inline]] inline __m512i running_sums(__m512i v) {
  const __m512i zero = _mm512_setzero_si512();
  v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 7));
  v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 6));
  return _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 4));
}

/// Does the same for a bucket of at most 8 * Vectors entries, without a branch: sort, find the last of each
/// run of equals, and take differences of the running sums that stand there.
template <int Vectors>
[[gnu::always_inline]] inline std::size_t reduce_lanes(const Buckets<Key64>& buckets, std::size_t number,
                                                       std::size_t begin, std::size_t n, Key64* keys,
                                                       std::uint64_t* counts) {
  const __m128i weight_bits = _mm_cvtsi32_si128(static_cast<int>(buckets.weight_bits));
  const __m512i ones = _mm512_set1_epi64(-1);
  const std::uint64_t top_bits = std::uint64_t{number} << buckets.rest_bits;
  const __m512i top = _mm512_set1_epi64(static_cast<long long>(top_bits));
  const auto mask = static_cast<std::uint32_t>((1u << n) - 1);
  // The bucket's last entry ends a run, whatever stands behind it.
  const std::uint32_t last_entry = mask ^ (mask >> 1);
  __m512i entries[Vectors], rests[Vectors + 1];
  for (int i = 0; i < Vectors; ++i) {
    entries[i] = _mm512_mask_loadu_epi64(ones, static_cast<__mmask8>(mask >> (8 * i)),
                                         buckets.entries + begin + 8 * i);
  }
  sort_vectors<Vectors>(entries);
  for (int i = 0; i < Vectors; ++i) rests[i] = _mm512_srl_epi64(entries[i], weight_bits);
  rests[Vectors] = ones;
  std::size_t size = 0;
  __m512i before = _mm512_setzero_si512();  // all lanes: the sum up to the last run that has ended
  __m512i sum = before;                     // all lanes: the sum of all vectors so far
  for (int i = 0; i < Vectors; ++i) {
    const auto here = static_cast<__mmask8>(mask >> (8 * i));
    const auto ends =
        static_cast<__mmask8>((ends_of_runs(rests[i], rests[i + 1]) & here) | (last_entry >> (8 * i)));
    const auto runs = static_cast<std::size_t>(std::popcount(static_cast<std::uint32_t>(ends)));
    __m512i sums =
        running_sums(_mm512_maskz_andnot_epi64(here, _mm512_sll_epi64(ones, weight_bits), entries[i]));
    if constexpr (Vectors > 1) sums = _mm512_add_epi64(sums, sum);
    const __m512i at_ends = _mm512_maskz_compress_epi64(ends, sums);
    _mm512_storeu_si512(keys + size, _mm512_or_si512(_mm512_maskz_compress_epi64(ends, rests[i]), top));
    _mm512_storeu_si512(counts + size, _mm512_sub_epi64(at_ends, _mm512_alignr_epi64(at_ends, before, 7)));
    size += runs;
    if (i + 1 < Vectors) {
      sum = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), sums);
      const __m512i last_run = _mm512_set1_epi64(static_cast<long long>(runs) - 1);
      before = _mm512_mask_permutexvar_epi64(before, runs == 0 ? 0 : 0xFF, last_run, at_ends);
    }
  }
  return size;
}

/// Reduces more than eight entries. Never inlined: what it does with registers is no affair of the loop
/// below.
[[gnu::noinline]] std::size_t reduce_long(const Buckets<Key64>& buckets, std::size_t number,
                                          std::size_t begin, std::size_t n, Key64* keys,
                                          std::uint64_t* counts) {
  return n <= 16 ? reduce_lanes<2>(buckets, number, begin, n, keys, counts)
                 : reduce_bucket(buckets, number, begin, keys, counts);
}

template <>
std::size_t reduce(const Buckets<Key64>& all, Key64* keys, std::uint64_t* counts) {
  const Buckets<Key64> buckets = all;  // which no store to the results can change
  std::size_t size = 0, begin = 0;
  for (std::size_t b = 0; b < std::size_t{1} << buckets.bits; ++b) {
    const std::size_t end = buckets.ends[b], n = end - begin;
    size += n <= 8 ? reduce_lanes<1>(buckets, b, begin, n, keys + size, counts + size)
                   : reduce_long(buckets, b, begin, n, keys + size, counts + size);
    begin = end;
  }
  return size;
}

#endif

#undef WARPMER_BASE_BY_NIBBLE
#undef WARPMER_CODE_BY_NIBBLE
