/// Kernels that cut text around minimizers (bench/flanked_cut.h is the definition). Included behind
/// kernels_cut_body.h and kernels_cut_lanes_body.h, in the same way and with the same rules.
///
/// A stretch is cut in three steps: the window minima, and where they change, which makes runs; for each run
/// the place of its minimizer, and the text around it; and the words, several at a time. Runs too long for a
/// word are cut before the second step. Those whose minimizer stands in several places are put aside, and cut
/// in pieces one by one.

/// Numbers that all pieces of a cut have in common.
template <int Words>
struct FlankedFormat {
  std::uint32_t k, m, flank_bases, rest_bits, length_bits;
  std::uint32_t most_kmers;  ///< of a piece
  MmerRule rule;

  [[gnu::always_inline]] inline explicit FlankedFormat(const FlankedCutParams& params)
      : k(params.k),
        m(minimizer_length(params.k)),
        flank_bases(k - m),
        rest_bits(2 * m - kShardBits),
        length_bits(groups::bits_of(flank_bases)),
        most_kmers(groups::FlankedWordFormat<Words>(groups::GroupShape(k)).most_bases() - flank_bases + 1),
        rule(m, params.canonical) {}
};

/// The places of pieces: each has k-mers [from, to) of the stretch around the m-mer `at`. `texts` has
/// `TextWords` words of the packed text for each, from the byte on that holds the base `flank_bases` before
/// the minimizer: both flanks and the minimizer are in them, however long the flanks. They are stored long
/// before they are loaded into vectors.
template <int TextWords>
struct PieceList {
  const std::uint32_t *from, *to, *at;
  const std::uint64_t* texts;
  std::size_t size;
};

template <int TextWords>
[[gnu::always_inline]] inline void fetch_text(const std::uint64_t* packed, std::ptrdiff_t base,
                                              std::uint64_t* text) {
  __builtin_memcpy(text, reinterpret_cast<const char*>(packed) + (base >> 2), 8 * TextWords);
}

/// The flanks of pieces, the innermost base lowest, with nonsense above: `Words` / 2 words each.
template <int Words>
struct PieceFlanks {
  PieceLanes mmer, left[Words / 2], right[Words / 2];
};

/// Takes apart the text around minimizers, which begins `flank_bases` before them.
template <int Words, int TextWords>
[[gnu::always_inline]] inline PieceFlanks<Words> flanks_in(const PieceLanes (&text)[TextWords],
                                                           const FlankedFormat<Words>& format) {
  const auto n = static_cast<std::int32_t>(2 * format.flank_bases),
             k = static_cast<std::int32_t>(2 * format.k);
  PieceFlanks<Words> flanks;
  if constexpr (Words == 2) {
    flanks.mmer = down(text[0], n) | up(text[1], 64 - n);
    flanks.left[0] = down(reverse_pairs_lanes(text[0]), 64 - n);
    flanks.right[0] = down(text[0], k) | up(text[1], 64 - k) | down(text[1], k - 64);
    if constexpr (TextWords > 2) flanks.right[0] |= up(text[2], 128 - k);
  } else {
    flanks.mmer = down(text[1], n - 64);
    const PieceLanes high = reverse_pairs_lanes(text[0]), low = reverse_pairs_lanes(text[1]);
    flanks.left[0] = down(low, 128 - n) | up(high, n - 64);
    flanks.left[1] = down(high, 128 - n);
    flanks.right[0] = down(text[1], k - 64) | up(text[2], 128 - k);
    flanks.right[1] = down(text[2], k - 64) | up(text[3], 128 - k);
  }
  return flanks;
}

/// Joins flanks of `l` and `r` bases into words, with the header at the top.
[[gnu::always_inline]] inline void join_flanks(const PieceLanes (&left)[1], const PieceLanes (&right)[1],
                                               PieceLanes l, PieceLanes r, PieceLanes header,
                                               PieceLanes (&words)[2]) {
  const PieceLanes all = ~PieceLanes{}, q = l + l;
  const PieceLanes y = right[0] & ~up(all, r + r);
  words[0] = (left[0] & ~up(all, q)) | up(y, q);
  words[1] = down(y, 64 - q) | header;
}
[[gnu::always_inline]] inline void join_flanks(const PieceLanes (&left)[2], const PieceLanes (&right)[2],
                                               PieceLanes l, PieceLanes r, PieceLanes header,
                                               PieceLanes (&words)[4]) {
  const PieceLanes all = ~PieceLanes{}, q = l + l, t = r + r;
  const PieceLanes y0 = right[0] & ~up(all, t), y1 = right[1] & down(all, 128 - t);
  words[0] = (left[0] & ~up(all, q)) | up(y0, q);
  words[1] = (left[1] & down(all, 128 - q)) | up(y1, q) | down(y0, 64 - q) | up(y0, q - 64);
  words[2] = down(y1, 64 - q) | up(y1, q - 64) | down(y0, 128 - q);
  words[3] = down(y1, 128 - q) | header;
}

/// Makes the words of pieces. What it writes past the last piece is nonsense.
template <int Words, int TextWords>
[[gnu::noinline]] void append_pieces(const PieceList<TextWords>& pieces, std::size_t first,
                                     const FlankedFormat<Words>& format, FlankedList<Words>& out) {
  const std::uint32_t m = format.m, length_bits = format.length_bits, rest_bits = format.rest_bits;
  const std::uint32_t id_mask = format.rule.mask, rest_mask = (1u << rest_bits) - 1;
  const std::uint64_t right_bases_less = format.k - m - 1, bases_before = first - format.flank_bases;
  const auto other_shift = static_cast<std::int32_t>(64 - 2 * m);
  const auto header_shift = static_cast<std::int32_t>(64 - rest_bits - 2 * length_bits);
  const PieceLanes zero = {};
  for (std::size_t i = 0; i < pieces.size; i += kPieceLanes) {
    const PieceLanes from = load_pieces(pieces.from + i), to = load_pieces(pieces.to + i);
    const PieceLanes at = load_pieces(pieces.at + i), shift = ((at + bases_before) & 3) * 2;
    PieceLanes text[TextWords];
    load_words<TextWords>(pieces.texts + TextWords * i, text);
    for (int j = 0; j + 1 < TextWords; ++j) text[j] = down(text[j], shift) | up(text[j + 1], 64 - shift);
    text[TextWords - 1] = down(text[TextWords - 1], shift);
    const PieceFlanks<Words> flanks = flanks_in<Words, TextWords>(text, format);
    const PieceLanes mmer = flanks.mmer & format.rule.mask;
    const PieceLanes other = down(reverse_pairs_lanes(~mmer), other_shift) | format.rule.as_read;
    const auto is_forward = (PieceSigned)mmer < (PieceSigned)other;
    PieceLanes32 id = convert_lanes<PieceLanes32>(is_forward ? mmer : other);
    id = (id * GroupHash::kFirst) & id_mask;
    id ^= id >> m;
    id = (id * GroupHash::kSecond) & id_mask;
    id ^= id >> m;
    // On the other strand the flanks are each other's complement.
    const PieceLanes left_bases = at - from, right_bases = to - at + right_bases_less;
    const PieceLanes l = is_forward ? left_bases : right_bases, r = is_forward ? right_bases : left_bases;
    PieceLanes left[Words / 2], right[Words / 2], words[Words];
    for (int j = 0; j < Words / 2; ++j) {
      left[j] = is_forward ? flanks.left[j] : ~flanks.right[j];
      right[j] = is_forward ? flanks.right[j] : ~flanks.left[j];
    }
    const PieceLanes rest = convert_lanes<PieceLanes>(id & rest_mask);
    const PieceLanes header = up((((rest << length_bits) | l) << length_bits) | r, header_shift);
    join_flanks(left, right, l, r, header, words);
    const std::size_t n = out.size + i;
    store_words<Words>(out.words + n, words);
    store_pieces(out.shards + n, convert_lanes<PieceLanes16>(id >> rest_bits));
    store_pieces(out.starts + n, convert_lanes<PieceLanes32>(from + first));
    store_pieces(out.is_forward + n, convert_lanes<PieceLanes8>(is_forward ? zero + 1 : zero));
  }
  out.size += pieces.size;
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

/// The first place of a minimizer among some m-mers; `is_alone` when there is no other.
struct MinimizerPlace {
  std::size_t at;
  bool is_alone;
};

/// Looks at 16 * `Vectors` lanes. The result is valid only when `lanes` is not larger.
template <int Vectors>
[[gnu::always_inline]] inline MinimizerPlace find_minimizer(const std::uint32_t* hashes, std::uint32_t value,
                                                            std::size_t lanes) {
  constexpr std::size_t kMost = 16 * Vectors;
  const auto bits = static_cast<std::int32_t>(lanes < kMost ? lanes : kMost);
  if constexpr (Vectors <= 4) {
    const std::uint64_t mask = low_bits(equal_to<Vectors>(hashes, value), bits);
    return {static_cast<std::size_t>(std::countr_zero(mask)), (mask & (mask - 1)) == 0};
  } else {
    const std::uint64_t low = low_bits(equal_to<4>(hashes, value), bits);
    const std::uint64_t high = low_bits(equal_to<Vectors - 4>(hashes + 64, value), bits - 64);
    const Key128 mask = (Key128{high} << 64) | low;
    return {static_cast<std::size_t>(low != 0 ? std::countr_zero(low) : 64 + std::countr_zero(high)),
            (mask & (mask - 1)) == 0};
  }
}

/// Runs of k-mers whose windows have equal minima: where each begins, and behind the last where that ends;
/// and their minima. Arrays of kCutScratch elements.
struct RunList {
  std::uint32_t *starts, *minima;
};

/// Finds window minima, and sets a bit for each that differs from the one before it; of the first and of
/// those past the last the bits mean nothing.
[[gnu::always_inline]] inline void find_changes(const std::uint64_t* packed, std::size_t first,
                                                std::size_t mmers, const MmerRule& rule, std::uint32_t window,
                                                std::uint32_t* hashes, std::uint32_t* minima,
                                                std::uint64_t* is_change) {
#if defined(__AVX512F__)
  for (std::size_t i = 0; i < mmers; i += 16)
    store(hashes + i, MmerBases(packed, first + i, rule).hashes(kTwiceIota32));
  __m512i before = _mm512_setzero_si512();
  std::uint64_t last_64 = 0;  // stored as a whole: what is loaded as a whole need not wait then
  minimize_windows(
      mmers, window,
      [hashes](std::size_t i) __attribute__((always_inline)) { return _mm512_loadu_si512(hashes + i); },
      [&](__m512i here, std::size_t i) __attribute__((always_inline)) {
        _mm512_storeu_si512(minima + i, here);
        const __mmask16 changed = _mm512_cmpneq_epi32_mask(here, _mm512_alignr_epi32(here, before, 15));
        last_64 = (last_64 >> 16) | (static_cast<std::uint64_t>(changed) << 48);
        is_change[i / 64] = last_64;
        before = here;
      });
  const std::size_t last = mmers - window;
  is_change[last / 64] >>= 48 - last % 64 / 16 * 16;
#else
  window_minima(packed, first, mmers, rule, window, minima, hashes);
  for (std::size_t i = 0; i < mmers - window + 1; i += 64) is_change[i / 64] = changes(minima + i);
#endif
}

/// Hashes a stretch's m-mers and lists its runs. Returns how many there are. `scratch` has kCutScratch
/// elements.
[[gnu::noinline]] std::size_t list_runs(const std::uint64_t* packed, std::size_t first, std::size_t mmers,
                                        const MmerRule& rule, std::uint32_t window, std::uint32_t* hashes,
                                        std::uint32_t* scratch, const RunList& list) {
  std::uint32_t* const minima = scratch + 16;  // what stands before the first is compared with it
  std::uint64_t is_change[kCutKmers / 64 + 1];
  find_changes(packed, first, mmers, rule, window, hashes, minima, is_change);
  const std::size_t kmers = mmers - window + 1;
  is_change[0] |= 1;
  std::uint32_t* starts = list.starts;
  std::size_t size = 0;
  for (std::size_t i = 0; i < kmers; i += 64) {
    std::uint64_t mask = is_change[i / 64];
    if (kmers - i < 64) mask &= (std::uint64_t{1} << (kmers - i)) - 1;
    for (; mask != 0; mask &= mask - 1) {
      const std::size_t start = i + static_cast<std::size_t>(std::countr_zero(mask));
      list.minima[size] = minima[start];
      starts[size++] = static_cast<std::uint32_t>(start);
    }
  }
  starts[size] = static_cast<std::uint32_t>(kmers);
  return size;
}

/// Cuts runs of more than `most` k-mers in several. Returns how many there are then.
[[gnu::noinline]] std::size_t split_runs(const RunList& from, std::size_t size, std::uint32_t most,
                                         const RunList& to) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::uint32_t start = from.starts[i]; start < from.starts[i + 1]; start += most) {
      to.starts[n] = start;
      to.minima[n++] = from.minima[i];
    }
  }
  to.starts[n] = from.starts[size];
  return n;
}

/// The stretch that is cut. Numbers of k-mers and m-mers are those of the stretch.
template <int Words>
struct FlankedStretch {
  const std::uint64_t* packed;
  std::size_t first;  ///< base of the text
  const std::uint32_t* hashes;
  FlankedFormat<Words> format;
  bool canonical;
};

/// Pieces cut one by one.
template <int Words, int TextWords>
class Pieces {
 public:
  [[gnu::always_inline]] inline Pieces(const FlankedStretch<Words>& stretch, FlankedList<Words>& out)
      : stretch_(stretch), out_(out) {}

  [[gnu::always_inline]] inline void add(std::size_t from, std::size_t to, std::size_t at) {
    from_[size_] = static_cast<std::uint32_t>(from);
    to_[size_] = static_cast<std::uint32_t>(to);
    at_[size_] = static_cast<std::uint32_t>(at);
    fetch_text<TextWords>(stretch_.packed,
                          static_cast<std::ptrdiff_t>(stretch_.first + at - stretch_.format.flank_bases),
                          texts_ + TextWords * size_);
    if (++size_ == kRoom) flush();
  }
  [[gnu::always_inline]] inline void flush() {
    append_pieces<Words, TextWords>({from_, to_, at_, texts_, size_}, stretch_.first, stretch_.format, out_);
    size_ = 0;
  }

 private:
  static constexpr std::size_t kRoom = 16;
  const FlankedStretch<Words>& stretch_;
  FlankedList<Words>& out_;
  std::size_t size_ = 0;
  std::uint32_t from_[kRoom], to_[kRoom], at_[kRoom];
  std::uint64_t texts_[kRoom * TextWords];
};

/// Returns 64 bases of a packed text.
[[gnu::always_inline]] inline Key128 bases_from(const std::uint64_t* packed, std::size_t base) {
  return (Key128{bits_from(packed, 2 * base + 64)} << 64) | bits_from(packed, 2 * base);
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

/// Follows the places of a minimizer that stands in several: of those on the text's strand the first has the
/// smallest layer, of those on the other the last.
template <int Words>
class TiedPlaces {
 public:
  [[gnu::always_inline]] inline TiedPlaces(const FlankedStretch<Words>& stretch, std::size_t from)
      : stretch_(stretch), value_(smallest_from(from)), next_text_(from), entered_(from) {}

  /// Returns which place counts for a k-mer: the next one, after the last that was asked for.
  [[gnu::always_inline]] inline std::size_t place_for(std::size_t kmer) {
    const std::size_t end = kmer + stretch_.format.flank_bases;
    if (next_text_ < kmer) next_text_ = kmer;
    while (next_text_ <= end && strand_at(next_text_) != Strand::text) ++next_text_;
    for (; entered_ <= end; ++entered_) {
      if (strand_at(entered_) != Strand::other) continue;
      last_other_ = entered_;
      has_other_ = true;
    }
    if (!has_other_ || last_other_ < kmer) return next_text_;
    if (next_text_ > end) return last_other_;
    const std::size_t layer = next_text_ - kmer, other_layer = end - last_other_;
    const bool is_text = layer != other_layer
                             ? layer < other_layer
                             : is_before_other(stretch_, kmer, static_cast<std::uint32_t>(layer));
    return is_text ? next_text_ : last_other_;
  }

 private:
  enum class Strand { neither, text, other };

  [[gnu::always_inline]] inline std::uint32_t smallest_from(std::size_t kmer) const {
    std::uint32_t smallest = ~0u;
    for (std::size_t i = 0; i <= stretch_.format.flank_bases; ++i)
      smallest = stretch_.hashes[kmer + i] < smallest ? stretch_.hashes[kmer + i] : smallest;
    return smallest;
  }
  [[gnu::always_inline]] inline Strand strand_at(std::size_t i) const {
    if (stretch_.hashes[i] != value_) return Strand::neither;
    if (!stretch_.canonical) return Strand::text;
    const auto bits = static_cast<std::uint32_t>(bits_from(stretch_.packed, 2 * (stretch_.first + i)));
    const std::uint32_t mmer = bits & stretch_.format.rule.mask;
    return mmer < other_strand(mmer, stretch_.format.m) ? Strand::text : Strand::other;
  }

  const FlankedStretch<Words>& stretch_;
  std::uint32_t value_;
  std::size_t next_text_, last_other_ = 0, entered_;
  bool has_other_ = false;
};

/// Cuts k-mers [from, to), whose minimizer may stand in several places, or which are too many for a word.
/// Which place counts may change from k-mer to k-mer; in microsatellites it does so every few.
template <int Words, int TextWords>
[[gnu::noinline]] void append_in_pieces(const FlankedStretch<Words>& stretch, std::size_t from,
                                        std::size_t to, FlankedList<Words>& out) {
  TiedPlaces<Words> places(stretch, from);
  Pieces<Words, TextWords> pieces(stretch, out);
  std::size_t begin = from, place = places.place_for(from);
  for (std::size_t kmer = from + 1; kmer < to; ++kmer) {
    const std::size_t here = places.place_for(kmer);
    if (here != place || kmer - begin == stretch.format.most_kmers) {
      pieces.add(begin, kmer, place);
      begin = kmer;
      place = here;
    }
  }
  pieces.add(begin, to, place);
  pieces.flush();
}

/// `Vectors` times 16 m-mers are at least all that k-mers around one place have.
template <int Words, int Vectors>
void cut_around(const std::uint64_t* packed, std::size_t first, std::size_t bases,
                const FlankedCutParams& params, std::uint32_t* scratch, FlankedList<Words>& out) {
  constexpr int kTextWords = Vectors > 3 ? 4 : 2;
  constexpr std::size_t kBlock = 64;  // runs at a time: what is known of them stays in the cache
  std::uint32_t* const hashes = scratch + kCutScratch;
  RunList runs{scratch + 2 * kCutScratch, scratch + 3 * kCutScratch};
  const FlankedStretch<Words> stretch{packed, first, hashes, FlankedFormat<Words>(params), params.canonical};
  const std::size_t n = stretch.format.flank_bases, most_kmers = stretch.format.most_kmers;
  std::size_t number = list_runs(packed, first, bases - stretch.format.m + 1, stretch.format.rule,
                                 stretch.format.flank_bases + 1, hashes, scratch, runs);
  if (most_kmers <= n) {  // else too many k-mers have several places, too
    const RunList split{scratch + 4 * kCutScratch, scratch};
    number = split_runs(runs, number, stretch.format.most_kmers, split);
    runs = split;
  }
  const std::size_t most = most_kmers < 16 * Vectors - n ? most_kmers : 16 * Vectors - n;
  std::uint32_t at[kBlock + kPieceLanes], odd[kBlock];
  std::uint64_t texts[kTextWords * (kBlock + kPieceLanes)];
  for (std::size_t begin = 0; begin < number; begin += kBlock) {
    const std::size_t end = number - begin < kBlock ? number : begin + kBlock;
    std::size_t odd_size = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t from = runs.starts[i], kmers = runs.starts[i + 1] - from;
      const MinimizerPlace found = find_minimizer<Vectors>(hashes + from, runs.minima[i], kmers + n);
      const std::size_t place = from + found.at;
      at[i - begin] = static_cast<std::uint32_t>(place);
      fetch_text<kTextWords>(packed, static_cast<std::ptrdiff_t>(first + place - n),
                             texts + kTextWords * (i - begin));
      odd[odd_size] = static_cast<std::uint32_t>(i);
      odd_size += static_cast<std::size_t>(!found.is_alone | (kmers > most));
    }
    std::size_t done = begin;
    for (std::size_t j = 0; j <= odd_size; ++j) {
      const std::size_t stop = j < odd_size ? odd[j] : end;
      append_pieces<Words, kTextWords>({runs.starts + done, runs.starts + done + 1, at + (done - begin),
                                        texts + kTextWords * (done - begin), stop - done},
                                       first, stretch.format, out);
      if (stop < end)
        append_in_pieces<Words, kTextWords>(stretch, runs.starts[stop], runs.starts[stop + 1], out);
      done = stop + 1;
    }
  }
}

template <int Words>
void cut_flanked(const std::uint64_t* packed, std::size_t first, std::size_t bases,
                 const FlankedCutParams& params, std::uint32_t* scratch, FlankedList<Words>& out) {
  if constexpr (Words == 2) {
    const std::uint32_t mmers = 2 * (params.k - minimizer_length(params.k)) + 1;
    if (mmers <= 16) return cut_around<2, 1>(packed, first, bases, params, scratch, out);
    if (mmers <= 32) return cut_around<2, 2>(packed, first, bases, params, scratch, out);
    if (mmers <= 48) return cut_around<2, 3>(packed, first, bases, params, scratch, out);
    if (mmers <= 64) return cut_around<2, 4>(packed, first, bases, params, scratch, out);
    cut_around<2, 5>(packed, first, bases, params, scratch, out);
  } else {
    cut_around<4, 7>(packed, first, bases, params, scratch, out);
  }
}
