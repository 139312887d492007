/// Kernels that cut text around minimizers (groups/flanked_cut.h is the definition). Included behind
/// kernels_body.h, in the same way and with the same rules.
///
/// A stretch is cut in three steps: the window minima, and where they change, as for `cut`; for each run of
/// equal minima the place of its minimizer, which makes pieces; and the pieces' words, several at a time
/// where there are vectors whose lanes shift by different numbers.

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

[[gnu::always_inline]] inline PieceLanes load_pieces(const std::uint64_t* p) {
  PieceLanes v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
[[gnu::always_inline]] inline PieceLanes load_pieces(const std::uint32_t* p) {
  PieceLanes32 v;
  __builtin_memcpy(&v, p, sizeof v);
  return convert_lanes<PieceLanes>(v);
}
template <class Lanes>
[[gnu::always_inline]] inline void store_pieces(void* p, Lanes v) {
  __builtin_memcpy(p, &v, sizeof v);
}

[[gnu::always_inline]] inline PieceLanes reverse_pairs_lanes(PieceLanes x) {
#if defined(__AVX2__)
  x = ((x >> 2) & 0x3333333333333333u) | ((x & 0x3333333333333333u) << 2);
  x = ((x >> 4) & 0x0F0F0F0F0F0F0F0Fu) | ((x & 0x0F0F0F0F0F0F0F0Fu) << 4);
  const __m128i bytes = _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
#if defined(__AVX512F__)
  return reinterpret_cast<PieceLanes>(
      _mm512_shuffle_epi8(reinterpret_cast<__m512i>(x), _mm512_broadcast_i32x4(bytes)));
#else
  return reinterpret_cast<PieceLanes>(
      _mm256_shuffle_epi8(reinterpret_cast<__m256i>(x), _mm256_broadcastsi128_si256(bytes)));
#endif
#else
  return reverse_pairs(x);
#endif
}

/// Stores words, given their low and their high halves.
[[gnu::always_inline]] inline void store_words(groups::FlankedWord<2>* to, PieceLanes low, PieceLanes high) {
#if defined(__AVX512F__)
  const auto a = reinterpret_cast<__m512i>(low), b = reinterpret_cast<__m512i>(high);
  const __m512i lower = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
  const __m512i upper = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
  _mm512_storeu_si512(to, _mm512_permutex2var_epi64(a, lower, b));
  _mm512_storeu_si512(to + 4, _mm512_permutex2var_epi64(a, upper, b));
#elif defined(__AVX2__)
  const auto a = reinterpret_cast<__m256i>(low), b = reinterpret_cast<__m256i>(high);
  const __m256i even = _mm256_unpacklo_epi64(a, b), odd = _mm256_unpackhi_epi64(a, b);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute2x128_si256(even, odd, 0x20));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 2), _mm256_permute2x128_si256(even, odd, 0x31));
#else
  to->word[0] = low;
  to->word[1] = high;
#endif
}

/// Numbers that all pieces of a cut have in common.
template <int Words>
struct FlankedFormat {
  std::uint32_t k, m, flank_bases, rest_bits, length_bits;
  std::uint32_t most_kmers;  ///< of a piece
  std::uint32_t mmer_mask, rest_mask;
  /// Or-ed to an m-mer's other strand: as read, an m-mer is always before it.
  std::uint32_t as_read;

  [[gnu::always_inline]] inline explicit FlankedFormat(const FlankedCutParams& params)
      : k(params.k),
        m(groups::group_minimizer_length(params.k)),
        flank_bases(k - m),
        rest_bits(2 * m - groups::kGroupShardBits),
        length_bits(groups::bits_of(flank_bases)),
        most_kmers(groups::FlankedWordFormat<Words>(groups::GroupShape(k)).most_bases() - flank_bases + 1),
        mmer_mask((1u << (2 * m)) - 1),
        rest_mask((1u << rest_bits) - 1),
        as_read(params.canonical ? 0 : 0x7FFFFFFF) {}
};

/// Consecutive k-mers around one place of their minimizer, which one word holds: [from, to) of the text, and
/// the minimizer's first base. For words of 16 bytes, the text from the first k-mer on, from the minimizer on
/// and from behind it is fetched when a piece is added: with vectors, what is loaded has to have been stored
/// long before.
template <int Words>
struct Pieces {
  static constexpr std::size_t kRoom = 128;
  std::size_t size = 0;
  std::uint32_t from[kRoom + 8], to[kRoom + 8], at[kRoom + 8];
  std::uint64_t before[kRoom + 8], mmer[kRoom + 8], behind[kRoom + 8];
};

/// Returns 8 bytes of a packed text, from the one on in which a base is: at least 29 bases, behind up to
/// three others.
[[gnu::always_inline]] inline std::uint64_t bytes_from(const std::uint64_t* packed, std::size_t base) {
  std::uint64_t v;
  __builtin_memcpy(&v, reinterpret_cast<const char*>(packed) + base / 4, sizeof v);
  return v;
}

/// Makes the words of all pieces. `LongFlanks`: `before` and `behind` begin at the base meant, else at the
/// byte that it is in.
template <bool LongFlanks>
[[gnu::always_inline]] inline void append_pieces(const std::uint64_t*, const FlankedFormat<2>& format,
                                                 Pieces<2>& pieces, FlankedList<2>& out) {
  const PieceLanes zero = {};
  store_pieces(pieces.from + pieces.size, PieceLanes32{});
  store_pieces(pieces.to + pieces.size, PieceLanes32{});
  store_pieces(pieces.at + pieces.size, PieceLanes32{});
  const groups::GroupHash hash(format.m);
  const std::uint32_t m = format.m, length_bits = format.length_bits;
  const std::uint32_t other_shift = 64 - 2 * m, header_shift = 64 - format.rest_bits - 2 * length_bits;
  for (std::size_t i = 0; i < pieces.size; i += kPieceLanes) {
    const PieceLanes from = load_pieces(pieces.from + i), to = load_pieces(pieces.to + i),
                     at = load_pieces(pieces.at + i);
    PieceLanes before = load_pieces(pieces.before + i), behind = load_pieces(pieces.behind + i);
    if constexpr (!LongFlanks) {
      before >>= 2 * (from & 3);
      behind >>= 2 * ((at + m) & 3);
    }
    const PieceLanes mmer = (load_pieces(pieces.mmer + i) >> (2 * (at & 3))) & format.mmer_mask;
    const PieceLanes other = (reverse_pairs_lanes(~mmer) >> other_shift) | format.as_read;
    const auto is_forward = (PieceSigned)mmer < (PieceSigned)other;
    PieceLanes32 id = convert_lanes<PieceLanes32>(is_forward ? mmer : other);
    id = (id * groups::GroupHash::kFirst) & hash.mask;
    id ^= id >> m;
    id = (id * groups::GroupHash::kSecond) & hash.mask;
    id ^= id >> m;
    // The innermost base of both flanks lowest, as the text has them: with nonsense above.
    const PieceLanes left_bases = at - from, right_bases = to - at + (format.k - m - 1);
    const PieceLanes left_text = (reverse_pairs_lanes(before) >> (32 - left_bases)) >> (32 - left_bases);
    const PieceLanes l = is_forward ? left_bases : right_bases, r = left_bases + right_bases - l;
    const PieceLanes all = ~zero;
    const PieceLanes left = (is_forward ? left_text : ~behind) & ~((all << l) << l);
    const PieceLanes right = (is_forward ? behind : ~left_text) & ~((all << r) << r);
    const PieceLanes rest = convert_lanes<PieceLanes>(id & format.rest_mask);
    const PieceLanes header = (((rest << length_bits) | l) << length_bits | r) << header_shift;
    const std::size_t n = out.size + i;
    store_words(out.words + n, left | ((right << l) << l), ((right >> (32 - l)) >> (32 - l)) | header);
    store_pieces(out.shards + n, convert_lanes<PieceLanes16>(id >> format.rest_bits));
    store_pieces(out.starts + n, convert_lanes<PieceLanes32>(from));
    store_pieces(out.is_forward + n, convert_lanes<PieceLanes8>(is_forward ? zero + 1 : zero));
  }
  out.size += pieces.size;
  pieces.size = 0;
}

/// Returns 64 bases of a packed text.
[[gnu::always_inline]] inline Key128 bases_from(const std::uint64_t* packed, std::size_t base) {
  return (Key128{bits_from(packed, 2 * base + 64)} << 64) | bits_from(packed, 2 * base);
}

template <bool LongFlanks>
[[gnu::always_inline]] inline void append_pieces(const std::uint64_t* packed, const FlankedFormat<4>& format,
                                                 Pieces<4>& pieces, FlankedList<4>& out) {
  const groups::GroupHash hash(format.m);
  const std::uint32_t m = format.m;
  for (std::size_t i = 0; i < pieces.size; ++i) {
    const std::uint32_t from = pieces.from[i], at = pieces.at[i];
    const std::uint32_t left_bases = at - from, right_bases = pieces.to[i] + format.k - 1 - at - m;
    const auto mmer = static_cast<std::uint32_t>(bits_from(packed, 2 * std::size_t{at})) & format.mmer_mask;
    const std::uint32_t other = groups::other_strand(mmer, m) | format.as_read;
    const bool is_forward = mmer < other;
    const Key128 before = bases_from(packed, from), behind = bases_from(packed, at + m);
    const Key128 reversed = (Key128{reverse_pairs(static_cast<std::uint64_t>(before))} << 64) |
                            reverse_pairs(static_cast<std::uint64_t>(before >> 64));
    const Key128 left_text = (reversed >> (64 - left_bases)) >> (64 - left_bases);
    const std::uint32_t l = is_forward ? left_bases : right_bases, r = left_bases + right_bases - l;
    const Key128 left = (is_forward ? left_text : ~behind) & key_mask<Key128>(l);
    const Key128 right = (is_forward ? behind : ~left_text) & key_mask<Key128>(r);
    const std::uint32_t id = hash(is_forward ? mmer : other);
    const std::uint64_t lengths = (std::uint64_t{l} << format.length_bits) | r;
    const std::uint64_t header = (std::uint64_t{id & format.rest_mask} << (2 * format.length_bits)) | lengths;
    const Key128 low = left | (right << (2 * l)), high = (right >> (64 - l)) >> (64 - l);
    const std::size_t n = out.size + i;
    out.words[n].word[0] = static_cast<std::uint64_t>(low);
    out.words[n].word[1] = static_cast<std::uint64_t>(low >> 64);
    out.words[n].word[2] = static_cast<std::uint64_t>(high);
    out.words[n].word[3] =
        static_cast<std::uint64_t>(high >> 64) | header << (64 - format.rest_bits - 2 * format.length_bits);
    out.shards[n] = static_cast<std::uint16_t>(id >> format.rest_bits);
    out.starts[n] = from;
    out.is_forward[n] = is_forward;
  }
  out.size += pieces.size;
  pieces.size = 0;
}

/// Returns a mask in which bit i says that values[i] is `value`.
template <int Vectors>
[[gnu::always_inline]] inline std::uint64_t equal_to(const std::uint32_t* values, std::uint32_t value) {
  std::uint64_t mask = 0;
#if defined(__AVX512F__)
  const __m512i wanted = _mm512_set1_epi32(static_cast<int>(value));
  for (int i = 0; i < Vectors; ++i) {
    const __mmask16 same = _mm512_cmpeq_epi32_mask(_mm512_loadu_si512(values + 16 * i), wanted);
    mask |= static_cast<std::uint64_t>(same) << (16 * i);
  }
#elif defined(__AVX2__)
  const __m256i wanted = _mm256_set1_epi32(static_cast<int>(value));
  for (int i = 0; i < 2 * Vectors; ++i) {
    const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + 8 * i));
    const int same = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(here, wanted)));
    mask |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(same)) << (8 * i);
  }
#elif defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi32(static_cast<int>(value));
  for (int i = 0; i < 4 * Vectors; ++i) {
    const __m128i here = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values + 4 * i));
    const int same = _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(here, wanted)));
    mask |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(same)) << (4 * i);
  }
#else
  for (int i = 0; i < 16 * Vectors; ++i) mask |= static_cast<std::uint64_t>(values[i] == value) << i;
#endif
  return mask;
}

/// Where a minimizer stands, of `lanes` m-mers: the first place, and whether that is all of it.
struct MinimizerPlace {
  std::size_t at;
  bool is_alone;
};

/// `Vectors` times 16 lanes are looked at. A minimizer that stands in one place has no more.
template <int Vectors>
[[gnu::always_inline]] inline MinimizerPlace find_minimizer(const std::uint32_t* hashes, std::uint32_t value,
                                                            std::size_t lanes) {
  if constexpr (Vectors <= 4) {
    const std::uint64_t mask = low_bits(equal_to<Vectors>(hashes, value), static_cast<std::int32_t>(lanes));
    return {static_cast<std::size_t>(std::countr_zero(mask)),
            ((mask & (mask - 1)) | (lanes > 16 * Vectors ? 1 : 0)) == 0};
  } else {
    const std::uint64_t low = equal_to<4>(hashes, value), high = equal_to<Vectors - 4>(hashes + 64, value);
    const auto bits = static_cast<std::int32_t>(lanes);
    const Key128 mask = (Key128{low_bits(high, bits - 64)} << 64) | low_bits(low, bits);
    const auto part = static_cast<std::uint64_t>(mask);
    return {static_cast<std::size_t>(part != 0 ? std::countr_zero(part) : 64 + std::countr_zero(high)),
            (mask & (mask - 1)) == 0 && lanes <= 16 * Vectors};
  }
}

/// Lists the numbers of the values that differ from the one before them, beginning with 0 and ending with
/// `n`. Returns how many there are before `n`. Writes up to 16 past them.
[[gnu::always_inline]] inline std::size_t list_changes(const std::uint32_t* values, std::size_t n,
                                                       std::uint32_t* list) {
  std::size_t size = 1;
  list[0] = 0;
#if defined(__AVX512F__)
  __m512i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (std::size_t i = 0; i < n; i += 16) {
    std::uint32_t mask =
        _mm512_cmpneq_epi32_mask(_mm512_loadu_si512(values + i), _mm512_loadu_si512(values + i - 1));
    if (i == 0) mask &= ~1u;
    if (n - i < 16) mask &= (1u << (n - i)) - 1;
    _mm512_storeu_si512(list + size, _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), numbers));
    size += static_cast<std::size_t>(std::popcount(mask));
    numbers = _mm512_add_epi32(numbers, _mm512_set1_epi32(16));
  }
#else
  for (std::size_t i = 0; i < n; i += 64) {
    std::uint64_t mask = changes(values + i);
    if (i == 0) mask &= ~std::uint64_t{1};
    if (n - i < 64) mask &= (std::uint64_t{1} << (n - i)) - 1;
    for (; mask != 0; mask &= mask - 1)
      list[size++] = static_cast<std::uint32_t>(i) + static_cast<std::uint32_t>(std::countr_zero(mask));
  }
#endif
  list[size] = static_cast<std::uint32_t>(n);
  return size;
}

/// What a cut works on. Numbers of k-mers and m-mers are those of the stretch.
template <int Words>
struct FlankedStretch {
  const std::uint64_t* packed;
  std::size_t first;  ///< base of the text
  const std::uint32_t* hashes;
  const FlankedFormat<Words>& format;
  bool canonical;
};

template <int Words, bool LongFlanks>
[[gnu::always_inline]] inline void add_piece(const FlankedStretch<Words>& stretch, std::size_t from,
                                             std::size_t to, std::size_t at, Pieces<Words>& pieces,
                                             FlankedList<Words>& out) {
  const std::size_t n = pieces.size, base = stretch.first + from, mmer = stretch.first + at;
  pieces.from[n] = static_cast<std::uint32_t>(base);
  pieces.to[n] = static_cast<std::uint32_t>(stretch.first + to);
  pieces.at[n] = static_cast<std::uint32_t>(mmer);
  if constexpr (Words == 2) {
    const std::uint64_t* packed = stretch.packed;
    const std::size_t behind = mmer + stretch.format.m;
    pieces.before[n] = LongFlanks ? bits_from(packed, 2 * base) : bytes_from(packed, base);
    pieces.mmer[n] = bytes_from(packed, mmer);
    pieces.behind[n] = LongFlanks ? bits_from(packed, 2 * behind) : bytes_from(packed, behind);
  }
  pieces.size = n + 1;
  if (n + 1 == Pieces<Words>::kRoom) append_pieces<LongFlanks>(stretch.packed, stretch.format, pieces, out);
}

/// True when the k-mer has smaller flanks in the text's orientation than in the other, both of a layer.
template <int Words>
[[gnu::noinline]] bool is_before_other(const FlankedStretch<Words>& stretch, std::size_t kmer,
                                       std::uint32_t layer) {
  const std::uint32_t k = stretch.format.k;
  const groups::GroupShape shape(k);
  const Key128 forward = groups::reverse_flank(bases_from(stretch.packed, stretch.first + kmer), k);
  const Key128 reverse = reverse_complement(forward, k);
  return groups::flanks_of<Key128>(forward, layer, shape) < groups::flanks_of<Key128>(reverse, layer, shape);
}

/// Adds k-mers [from, to), whose minimizer stands in several places. Of those on the text's strand the first
/// has the smallest layer, of those on the other the last; which is it may change from k-mer to k-mer, and in
/// microsatellites does so every few.
template <int Words, bool LongFlanks>
[[gnu::noinline]] void add_tied(const FlankedStretch<Words>& stretch, std::size_t from, std::size_t to,
                                std::uint32_t value, Pieces<Words>& pieces, FlankedList<Words>& out) {
  const FlankedFormat<Words>& format = stretch.format;
  const std::size_t n = format.flank_bases, none = ~std::size_t{0};
  enum class Strand { neither, text, other };
  const auto strand_at = [&](std::size_t i) __attribute__((always_inline)) {
    if (stretch.hashes[i] != value) return Strand::neither;
    if (!stretch.canonical) return Strand::text;
    const auto bits = static_cast<std::uint32_t>(bits_from(stretch.packed, 2 * (stretch.first + i)));
    const std::uint32_t mmer = bits & format.mmer_mask;
    return mmer < groups::other_strand(mmer, format.m) ? Strand::text : Strand::other;
  };
  std::size_t next_text = from, last_other = none, entered = from;
  std::size_t begin = from, place = none;
  for (std::size_t kmer = from; kmer < to; ++kmer) {
    if (next_text < kmer) next_text = kmer;
    while (next_text <= kmer + n && strand_at(next_text) != Strand::text) ++next_text;
    for (; entered <= kmer + n; ++entered) {
      if (strand_at(entered) == Strand::other) last_other = entered;
    }
    const bool has_text = next_text <= kmer + n, has_other = last_other != none && last_other >= kmer;
    bool is_text = has_text;
    if (has_text && has_other) {
      const std::size_t layer = next_text - kmer, other_layer = kmer + n - last_other;
      is_text = layer != other_layer ? layer < other_layer
                                     : is_before_other(stretch, kmer, static_cast<std::uint32_t>(layer));
    }
    const std::size_t here = is_text ? next_text : last_other;
    if (kmer > from && (here != place || kmer - begin == format.most_kmers)) {
      add_piece<Words, LongFlanks>(stretch, begin, kmer, place, pieces, out);
      begin = kmer;
    }
    place = here;
  }
  add_piece<Words, LongFlanks>(stretch, begin, to, place, pieces, out);
}

/// `Vectors` times 16 m-mers are at least all that k-mers around one place have.
template <int Words, int Vectors>
void cut_around(const std::uint64_t* packed, std::size_t first, std::size_t bases,
                const FlankedCutParams& params, std::uint32_t* scratch, FlankedList<Words>& out) {
  constexpr bool kLongFlanks = Vectors > 3;
  const FlankedFormat<Words> format(params);
  std::uint32_t* const minima = scratch + 16;  // what stands before the first is compared with it
  std::uint32_t* const hashes = scratch + kCutScratch;
  std::uint32_t* const runs = scratch + 2 * kCutScratch;
  const std::size_t kmers = bases - format.k + 1, n = format.flank_bases;
  window_minima(packed, first, bases - format.m + 1, format.m, format.flank_bases + 1, minima, hashes);
  const std::size_t number = list_changes(minima, kmers, runs);
  const FlankedStretch<Words> stretch{packed, first, hashes, format, params.canonical};
  Pieces<Words> pieces;
  for (std::size_t i = 0; i < number; ++i) {
    std::size_t from = runs[i];
    const std::size_t to = runs[i + 1];
    const std::uint32_t value = minima[from];
    const MinimizerPlace found = find_minimizer<Vectors>(hashes + from, value, to - from + n);
    if (!found.is_alone) {
      add_tied<Words, kLongFlanks>(stretch, from, to, value, pieces, out);
      continue;
    }
    const std::size_t at = from + found.at;
    for (; to - from > format.most_kmers; from += format.most_kmers)
      add_piece<Words, kLongFlanks>(stretch, from, from + format.most_kmers, at, pieces, out);
    add_piece<Words, kLongFlanks>(stretch, from, to, at, pieces, out);
  }
  append_pieces<kLongFlanks>(packed, format, pieces, out);
}

template <int Words>
void cut_flanked(const std::uint64_t* packed, std::size_t first, std::size_t bases,
                 const FlankedCutParams& params, std::uint32_t* scratch, FlankedList<Words>& out) {
  if constexpr (Words == 2) {
    const std::uint32_t mmers = 2 * (params.k - groups::group_minimizer_length(params.k)) + 1;
    if (mmers <= 16) return cut_around<2, 1>(packed, first, bases, params, scratch, out);
    if (mmers <= 32) return cut_around<2, 2>(packed, first, bases, params, scratch, out);
    if (mmers <= 48) return cut_around<2, 3>(packed, first, bases, params, scratch, out);
    if (mmers <= 64) return cut_around<2, 4>(packed, first, bases, params, scratch, out);
    cut_around<2, 5>(packed, first, bases, params, scratch, out);
  } else {
    cut_around<4, 7>(packed, first, bases, params, scratch, out);
  }
}
