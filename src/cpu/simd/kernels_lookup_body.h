/// Kernels that look super-k-mers up in the strings of a shard (groups/string_lookup.h is the definition).
/// Included behind kernels_body.h, in the same way and with the same rules.

/// Super-k-mers of a shard, some at a time: what they need of it is fetched for all of them before the first
/// is compared.
inline constexpr std::size_t kSuperKmersAtOnce = 64;

/// Where the counts of a super-k-mer go.
struct CountPlaces {
  std::uint64_t* first;  ///< of its k-mers in the text
  std::uint32_t kmers;
  bool is_forward;  ///< the super-k-mer stands there from left to right

  /// Returns the first place in the text of k-mers [from, from + number).
  [[gnu::always_inline]] inline std::uint64_t* of(std::uint32_t from, std::uint32_t number) const {
    return is_forward ? first + from : first + (kmers - from - number);
  }
};

/// Writes the counts of a string's k-mers [from, from + number).
[[gnu::always_inline]] inline void write_counts(const groups::StringCounts& counts, std::uint32_t from,
                                                std::uint32_t number, bool is_forward, std::uint64_t* to) {
  for (std::uint32_t i = 0; i < number; ++i) to[is_forward ? i : number - 1 - i] = counts[from + i];
}

/// Looks up a super-k-mer in any bucket.
template <class Flanks>
[[gnu::noinline]] void find_in_any_bucket(const groups::ShardBits& shard, std::uint32_t rest,
                                          const groups::FlankedSuperKmer<Flanks>& super,
                                          const CountPlaces& places) {
  for (std::uint32_t i = 0; i < places.kmers; ++i) places.first[i] = 0;
  groups::StringSearch<Flanks> search(shard, rest, super);
  while (!search.is_done()) {
    search.compare_next([&](std::uint32_t first, std::uint32_t number, const groups::StringCounts& counts,
                            std::uint32_t from) __attribute__((always_inline)) {
      write_counts(counts, from, number, places.is_forward, places.of(first, number));
    });
  }
}

#if defined(__AVX512BW__)
/// Looks up super-k-mers in one shard. What makes a lookup slow is not the work but branches that nobody can
/// predict: how many strings stand before the group, how many k-mers agree. So the head of a bucket, mostly
/// less than 512 bits, is one register, of which all fields are taken at once.
class LaneSearch {
 public:
  [[gnu::always_inline]] inline explicit LaneSearch(const groups::ShardBits& shard)
      : shard_(shard),
        end_(reinterpret_cast<const char*>(shard.words + shard.payload_words + kReadAheadWords)),
        large_(groups::StringLengths(shard.flank_bases).large()),
        remainder_steps_(
            _mm512_mullo_epi32(lanes_32(), _mm512_set1_epi32(signed_of(shard.layout.remainder_bits)))),
        length_steps_(_mm512_mullo_epi16(lanes_16(), set1_epi16(shard.layout.length_bits))) {}

  /// Returns false when this is not for such a bucket, or so near the end of the shard.
  template <class Flanks>
  [[gnu::always_inline]] inline bool find(std::uint32_t rest, const groups::FlankedSuperKmer<Flanks>& super,
                                          const CountPlaces& places) const {
    const groups::ShardLayout& layout = shard_.layout;
    const std::uint64_t number = layout.bucket_of(rest), begin = shard_.part(number).at;
    const char* const bytes = reinterpret_cast<const char*>(shard_.words) + begin / 8;
    if (end_ - bytes < 64) return false;
    const auto shift = static_cast<std::uint32_t>(begin % 8);
    const std::uint64_t next = load_64(bytes) >> shift;
    const std::uint32_t zeros = groups::trailing_zeros(next | std::uint64_t{1} << 31);
    const auto strings = static_cast<std::uint32_t>(groups::gamma_number(next, zeros) - 1);
    if (strings > kMostStrings) return false;
    const std::uint32_t flags_at = 2 * zeros + 1;
    const std::uint64_t flags = (next >> flags_at) & below(strings);
    const std::uint32_t groups = groups::ones(flags), remainders_at = shift + flags_at + strings;
    const std::uint32_t lengths_at = remainders_at + groups * layout.remainder_bits;
    const std::uint32_t bases_at = lengths_at + strings * layout.length_bits;
    if (bases_at > 512 || groups > 16) return false;
    const __m512i head = _mm512_loadu_si512(bytes);
    const __m512i remainders = fields_32(head, remainders_at, remainder_steps_, layout.remainder_bits);
    const __m512i wanted =
        _mm512_set1_epi32(signed_of(rest - static_cast<std::uint32_t>(layout.first_of(number))));
    const std::uint64_t same = _mm512_cmpeq_epi32_mask(remainders, wanted) & below(groups);
    if (same == 0) {
      write_zeros(places);
      return true;
    }
    const std::uint64_t here = _pdep_u64(same & -same, flags);
    const auto first = groups::trailing_zeros(here);
    const auto end = groups::trailing_zeros((flags & ~(2 * here - 1)) | std::uint64_t{1} << strings);
    const auto all = static_cast<__mmask32>(below(strings));
    const __m512i codes = fields_16(head, lengths_at, length_steps_, layout.length_bits);
    if (_mm512_mask_cmpeq_epi16_mask(all, codes, set1_epi16(large_)) != 0) return false;
    const Strings lanes(codes, shard_.flank_bases, all);
    return compare(bytes, lanes, {first, end}, bases_at + lanes.base_bits_before(first),
                   bases_at + lanes.base_bits_before(kMostStrings), super, places);
  }

 private:
  static constexpr std::uint32_t kMostStrings = 32;

  /// Return the numbers of lanes.
  [[gnu::always_inline]] static inline __m512i lanes_32() {
    return _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  }
  [[gnu::always_inline]] static inline __m512i lanes_16() {
    return _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12,
                            11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  }

  struct Range {
    std::uint32_t first, end;
  };

  /// What the codes of lengths say of the strings of a bucket.
  struct Strings {
    alignas(32) std::uint8_t left[kMostStrings], base_bits[kMostStrings];  ///< 0 bits behind the last one
    std::uint32_t flank_bases;

    [[gnu::always_inline]] inline Strings(__m512i codes, std::uint32_t n, __mmask32 all) : flank_bases(n) {
      const __m256i low = roots(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(codes)));
      const __m256i high = roots(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(codes, 1)));
      const __m512i a = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
      const __m512i before =
          _mm512_srli_epi16(_mm512_mullo_epi16(a, _mm512_add_epi16(a, _mm512_set1_epi16(1))), 1);
      const __m512i bases = _mm512_add_epi16(_mm512_sub_epi16(codes, before), set1_epi16(n));
      _mm256_store_si256(reinterpret_cast<__m256i*>(left), _mm512_cvtepi16_epi8(a));
      _mm256_store_si256(reinterpret_cast<__m256i*>(base_bits),
                         _mm512_maskz_cvtepi16_epi8(all, _mm512_add_epi16(bases, bases)));
    }
    [[gnu::always_inline]] inline groups::FlankLengths lengths(std::uint32_t i) const {
      return {left[i], static_cast<std::uint8_t>(base_bits[i] / 2 - left[i])};
    }
    [[gnu::always_inline]] inline std::uint32_t kmers(std::uint32_t i) const {
      return base_bits[i] / 2 - flank_bases + 1;
    }
    /// Returns the bits of the bases of the first `i` strings.
    [[gnu::always_inline]] inline std::uint32_t base_bits_before(std::uint32_t i) const {
      const __m256i those = _mm256_maskz_mov_epi8(
          static_cast<__mmask32>(below(i)), _mm256_load_si256(reinterpret_cast<const __m256i*>(base_bits)));
      const __m256i sums = _mm256_sad_epu8(those, _mm256_setzero_si256());
      const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
      return static_cast<std::uint32_t>(_mm_extract_epi64(two, 0) + _mm_extract_epi64(two, 1));
    }

    /// Returns a of codes a(a + 1) / 2 to a(a + 3) / 2. The roots of odd squares are exact.
    [[gnu::always_inline]] static inline __m256i roots(__m512i codes) {
      const __m512i square = _mm512_add_epi32(_mm512_slli_epi32(codes, 3), _mm512_set1_epi32(1));
      const __m512 root = _mm512_sqrt_ps(_mm512_cvtepi32_ps(square));
      const __m512 half = _mm512_mul_ps(_mm512_sub_ps(root, _mm512_set1_ps(1)), _mm512_set1_ps(0.5F));
      return _mm512_cvtepi32_epi16(_mm512_cvttps_epi32(half));
    }
  };

  [[gnu::always_inline]] static inline int signed_of(std::uint32_t v) { return static_cast<int>(v); }
  [[gnu::always_inline]] static inline __m512i set1_epi16(std::uint32_t v) {
    return _mm512_set1_epi16(static_cast<short>(v));
  }
  [[gnu::always_inline]] static inline std::uint64_t below(std::uint32_t i) {
    return (std::uint64_t{1} << i) - 1;
  }
  [[gnu::always_inline]] static inline std::uint64_t load_64(const char* bytes) {
    std::uint64_t value;
    __builtin_memcpy(&value, bytes, 8);
    return value;
  }

  /// Return fields of `bits` bits each, at most as many as a lane has, that lie at `at` and the `steps`
  /// behind it. Those that do not end within the register are nonsense.
  [[gnu::always_inline]] static inline __m512i fields_32(__m512i from, std::uint32_t at, __m512i steps,
                                                         std::uint32_t bits) {
    const __m512i places = _mm512_add_epi32(_mm512_set1_epi32(signed_of(at)), steps);
    const __m512i word = _mm512_srli_epi32(places, 5), one = _mm512_set1_epi32(1);
    const __m512i shift = _mm512_and_si512(places, _mm512_set1_epi32(31));
    const __m512i low = _mm512_srlv_epi32(_mm512_permutexvar_epi32(word, from), shift);
    const __m512i high = _mm512_sllv_epi32(_mm512_permutexvar_epi32(_mm512_add_epi32(word, one), from),
                                           _mm512_sub_epi32(_mm512_set1_epi32(32), shift));
    return _mm512_and_si512(_mm512_or_si512(low, high),
                            _mm512_set1_epi32(static_cast<int>((std::uint64_t{1} << bits) - 1)));
  }
  [[gnu::always_inline]] static inline __m512i fields_16(__m512i from, std::uint32_t at, __m512i steps,
                                                         std::uint32_t bits) {
    const __m512i places = _mm512_add_epi16(set1_epi16(at), steps);
    const __m512i word = _mm512_srli_epi16(places, 4);
    const __m512i shift = _mm512_and_si512(places, set1_epi16(15));
    const __m512i low = _mm512_srlv_epi16(_mm512_permutexvar_epi16(word, from), shift);
    const __m512i high =
        _mm512_sllv_epi16(_mm512_permutexvar_epi16(_mm512_add_epi16(word, set1_epi16(1)), from),
                          _mm512_sub_epi16(set1_epi16(16), shift));
    return _mm512_and_si512(_mm512_or_si512(low, high), set1_epi16((1u << bits) - 1));
  }

  [[gnu::always_inline]] static inline void write_zeros(const CountPlaces& places) {
    for (std::uint32_t i = 0; i < places.kmers; i += 8) {
      const std::uint32_t left = places.kmers - i;
      _mm512_mask_storeu_epi64(places.first + i, static_cast<__mmask8>(below(left < 8 ? left : 8)),
                               _mm512_setzero_si512());
    }
  }

  /// Compares with the strings of a group. Bits are counted from `bytes` on; bases of the first string begin
  /// at `bases_at`, and counts of the bucket at `codes_at`.
  template <class Flanks>
  [[gnu::always_inline]] inline bool compare(const char* bytes, const Strings& strings, Range group,
                                             std::uint32_t bases_at, std::uint32_t codes_at,
                                             const groups::FlankedSuperKmer<Flanks>& super,
                                             const CountPlaces& places) const {
    const std::uint32_t n = shard_.flank_bases;
    std::uint32_t answered = 0, codes_of = 0;
    for (std::uint32_t i = group.first; i < group.end; ++i) {
      const groups::FlankLengths string = strings.lengths(i);
      const Flanks left = flank_at<Flanks>(bytes, bases_at, string.left);
      const Flanks right = flank_at<Flanks>(bytes, bases_at + 2 * string.left, string.right);
      bases_at += strings.base_bits[i];
      const std::uint32_t a = groups::common_bases(left, super.left, least(string.left, super.left_bases));
      const std::uint32_t b =
          groups::common_bases(right, super.right, least(string.right, super.right_bases));
      if (a + b < n) continue;
      const std::uint32_t kmers = a + b - n + 1;
      if (answered == 0 && kmers < places.kmers) write_zeros(places);
      for (; codes_of < i; ++codes_of) codes_at = next_code(bytes, codes_at, strings, i, codes_of);
      write(bytes, codes_at, string.left - a, kmers, places.is_forward,
            places.of(super.left_bases - a, kmers));
      answered += kmers;
      if (answered == places.kmers) return true;
    }
    if (answered == 0) write_zeros(places);
    return true;
  }

  [[gnu::always_inline]] static inline std::uint32_t least(std::uint32_t a, std::uint32_t b) {
    return a < b ? a : b;
  }
  template <class Flanks>
  [[gnu::always_inline]] static inline Flanks flank_at(const char* bytes, std::uint32_t at,
                                                       std::uint32_t bases) {
    return read_bits<Flanks>(reinterpret_cast<const std::uint64_t*>(bytes), at, 2 * bases);
  }

  /// The two numbers before the counts of a string.
  struct CodeHead {
    std::uint64_t smallest;
    std::uint32_t width, bits;  ///< of each count beyond the smallest, and of the head
    [[gnu::always_inline]] inline CodeHead(const char* bytes, std::uint32_t at) {
      const std::uint64_t next = load_64(bytes + at / 8) >> (at % 8);
      const std::uint32_t zeros = groups::trailing_zeros(next | std::uint64_t{1} << 31);
      width = static_cast<std::uint32_t>(groups::gamma_number(next, zeros) - 1);
      const std::uint64_t behind = next >> (2 * zeros + 1);
      const std::uint32_t more = groups::trailing_zeros(behind | std::uint64_t{1} << 31);
      smallest = groups::gamma_number(behind, more);
      bits = 2 * (zeros + more + 1);
      if (bits <= 57) return;
      groups::BitCursor codes{reinterpret_cast<const std::uint64_t*>(bytes), at};
      width = static_cast<std::uint32_t>(codes.read_gamma() - 1);
      smallest = codes.read_gamma();
      bits = static_cast<std::uint32_t>(codes.at - at);
    }
  };

  /// Returns where the code behind that of string `number` begins, or, of several strings of one count of 1,
  /// two bits each, the code behind them, but none behind that of `wanted`. Then `number` is the last of
  /// them.
  [[gnu::always_inline]] static inline std::uint32_t next_code(const char* bytes, std::uint32_t at,
                                                               const Strings& strings, std::uint32_t wanted,
                                                               std::uint32_t& number) {
    const std::uint64_t next = load_64(bytes + at / 8) >> (at % 8);
    const std::uint32_t ones = groups::trailing_zeros(~next) / 2;
    if (ones > 0) {
      const std::uint32_t passed = least(ones, wanted - number);
      number += passed - 1;
      return at + 2 * passed;
    }
    const CodeHead head(bytes, at);
    return at + head.bits + head.width * strings.kmers(number);
  }

  /// Writes the counts of the k-mers [from, from + number) of the string whose code is at `at`.
  [[gnu::always_inline]] inline void write(const char* bytes, std::uint32_t at, std::uint32_t from,
                                           std::uint32_t number, bool is_forward, std::uint64_t* to) const {
    const CodeHead head(bytes, at);
    const std::uint32_t first = at + head.bits + from * head.width;
    const char* const packed = bytes + first / 8;
    if (head.width > 31 || number * head.width > 504 || end_ - packed < 64) {
      const groups::BitCursor beyond{reinterpret_cast<const std::uint64_t*>(bytes), at + head.bits};
      return write_counts({beyond, head.smallest, head.width, 0}, from, number, is_forward, to);
    }
    const __m512i data = _mm512_loadu_si512(packed);
    // Lane i takes the i-th k-mer of the text.
    const std::uint32_t at_first = first % 8 + (is_forward ? 0 : (number - 1) * head.width);
    const __m512i step = _mm512_set1_epi32(signed_of(is_forward ? head.width : 0 - head.width));
    const __m512i smallest = _mm512_set1_epi64(static_cast<long long>(head.smallest));
    for (std::uint32_t i = 0; i < number; i += 16) {
      const __m512i lane = _mm512_add_epi32(lanes_32(), _mm512_set1_epi32(signed_of(i)));
      const __m512i beyond = fields_32(data, at_first, _mm512_mullo_epi32(lane, step), head.width);
      const std::uint64_t those = below(number - i < 16 ? number - i : 16);
      const __m512i low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(beyond));
      const __m512i high = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(beyond, 1));
      _mm512_mask_storeu_epi64(to + i, static_cast<__mmask8>(those), _mm512_add_epi64(low, smallest));
      _mm512_mask_storeu_epi64(to + i + 8, static_cast<__mmask8>(those >> 8),
                               _mm512_add_epi64(high, smallest));
    }
  }

  const groups::ShardBits& shard_;
  const char* end_;  ///< of what may be read
  std::uint32_t large_;
  __m512i remainder_steps_, length_steps_;
};
#else
class LaneSearch {
 public:
  [[gnu::always_inline]] inline explicit LaneSearch(const groups::ShardBits& /*shard*/) {}
  template <class Flanks>
  [[gnu::always_inline]] inline bool find(std::uint32_t /*rest*/,
                                          const groups::FlankedSuperKmer<Flanks>& /*super*/,
                                          const CountPlaces& /*places*/) const {
    return false;
  }
};
#endif

template <int Words>
void find_strings(const groups::ShardBits& shard, std::uint32_t k, const FlankedList<Words>& list,
                  const std::uint32_t* numbers, std::size_t size, std::uint64_t* counts) {
  const groups::FlankedWordFormat<Words> format{groups::GroupShape(k)};
  const LaneSearch lanes(shard);
  groups::FlankedWord<Words> words[kSuperKmersAtOnce];
  std::uint64_t* firsts[kSuperKmersAtOnce];
  bool is_forward[kSuperKmersAtOnce];
  for (std::size_t begin = 0; begin < size; begin += kSuperKmersAtOnce) {
    const std::size_t n = size - begin < kSuperKmersAtOnce ? size - begin : kSuperKmersAtOnce;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t number = numbers[begin + i];
      words[i] = list.words[number];
      firsts[i] = counts + list.starts[number];
      is_forward[i] = list.is_forward[number] != 0;
      shard.prefetch_offset(format.rest(words[i]));
      __builtin_prefetch(firsts[i], 1);
    }
    for (std::size_t i = 0; i < n; ++i) shard.prefetch_bucket(format.rest(words[i]));
    for (std::size_t i = 0; i < n; ++i) {
      const auto super = format.super_kmer(words[i]);
      const std::uint32_t rest = format.rest(words[i]);
      const CountPlaces places{firsts[i], super.left_bases + super.right_bases - shard.flank_bases + 1,
                               is_forward[i]};
      if (shard.layout.buckets == 0 || !lanes.find(rest, super, places))
        find_in_any_bucket(shard, rest, super, places);
    }
  }
}
