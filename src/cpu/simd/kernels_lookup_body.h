/// Kernels that look super-k-mers up in the strings of a shard (groups/string_lookup.h is the definition).
/// Included behind kernels_body.h, in the same way and with the same rules.

/// Super-k-mers that take each step side by side. What is known of them, and what is fetched for the next
/// ones, has to stay in the first-level cache; a lookup takes as long with 8 and with 32.
inline constexpr std::size_t kSuperKmersAtOnce = 16;

/// The places that the counts of a super-k-mer go to.
struct CountPlaces {
  std::uint32_t* first;  ///< of its k-mers in the text
  std::uint32_t kmers;
  bool is_forward;  ///< the super-k-mer stands there from left to right

  /// Returns the first place in the text of k-mers [from, from + number).
  [[gnu::always_inline]] inline std::uint32_t* of(std::uint32_t from, std::uint32_t number) const {
    return is_forward ? first + from : first + (kmers - from - number);
  }
};

/// Writes the counts of a string's k-mers [from, from + number). Returns whether any is large.
[[gnu::always_inline]] inline bool write_counts(const groups::StringCounts& counts, std::uint32_t from,
                                                std::uint32_t number, bool is_forward, std::uint32_t* to) {
  bool has_large = false;
  for (std::uint32_t i = 0; i < number; ++i) {
    const std::uint64_t count = counts[from + i];
    const bool is_large = count >= kLargeCount;
    to[is_forward ? i : number - 1 - i] = is_large ? kLargeCount : static_cast<std::uint32_t>(count);
    has_large = has_large || is_large;
  }
  return has_large;
}

/// A super-k-mer that is looked up.
template <class Flanks>
struct LookupQuery {
  const groups::ShardBits* shard;
  std::uint64_t bucket_at;  ///< bit where its bucket begins
  std::uint32_t rest;
  groups::FlankedSuperKmer<Flanks> super;
  CountPlaces places;
};

/// Looks up a super-k-mer in any bucket. Returns whether a count is large.
template <class Flanks>
[[gnu::noinline]] bool find_in_any_bucket(const LookupQuery<Flanks>& query) {
  const CountPlaces& places = query.places;
  for (std::uint32_t i = 0; i < places.kmers; ++i) places.first[i] = 0;
  bool has_large = false;
  groups::StringSearch<Flanks> search(*query.shard, query.rest, query.super);
  while (!search.is_done()) {
    search.compare_next([&](std::uint32_t first, std::uint32_t number, const groups::StringCounts& counts,
                            std::uint32_t from) __attribute__((always_inline)) {
      has_large =
          write_counts(counts, from, number, places.is_forward, places.of(first, number)) || has_large;
    });
  }
  return has_large;
}

#if defined(__AVX512BW__)
/// Looks up super-k-mers. What makes lookups slow is not the work but branches that nobody can
/// predict: how many strings stand before the group, how many k-mers agree. So the head of a bucket, mostly
/// less than 512 bits, is one register, of which all fields are taken at once; and the steps of a lookup are
/// taken for many super-k-mers before the next ones, so that a wrong guess throws away little.
template <class Flanks>
class LaneSteps {
 public:
  [[gnu::always_inline]] inline explicit LaneSteps(std::uint32_t flank_bases)
      : flank_bases_(flank_bases), large_(groups::StringLengths(flank_bases).large()) {}

  /// Looks up at most kSuperKmersAtOnce. Meanwhile calls `fetch_ahead(i)` for each of them, which asks for
  /// what later ones need from memory: a core waits when it asks for more lines than the 24 or so that it
  /// can have on their way, so not for those of all at once.
  template <class FetchAhead>
  [[gnu::always_inline]] inline void find(const LookupQuery<Flanks>* queries, std::size_t n,
                                          FetchAhead&& fetch_ahead) {
    std::uint32_t whole[kSuperKmersAtOnce], others[kSuperKmersAtOnce];
    std::size_t whole_size = 0, others_size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      find_group(queries[i], groups_[i]);
      // Buckets of 4 lines and more are few, but 2 in 5 have counts behind the two that are there.
      __builtin_prefetch(groups_[i].bytes + groups_[i].codes_at / 8 + 8);
      fetch_ahead(i);
    }
    for (std::size_t i = 0; i < n; ++i) {
      // Nearly all have all of their k-mers in the first string: that which occurs most.
      matches_[i] = match(queries[i].super, groups_[i], groups_[i].first, groups_[i].bases_at);
      const bool is_whole = groups_[i].is_known && matches_[i].kmers == queries[i].places.kmers;
      whole[whole_size] = others[others_size] = static_cast<std::uint32_t>(i);
      whole_size += is_whole ? 1 : 0;
      others_size += is_whole ? 0 : 1;
    }
    for (std::size_t j = 0; j < whole_size; ++j) {
      FoundGroup& group = groups_[whole[j]];
      std::uint32_t codes_of = 0;
      for (; codes_of < group.first; ++codes_of)
        group.codes_at = next_code(group, group.codes_at, group.first, codes_of);
    }
    for (std::size_t j = 0; j < whole_size; ++j) {
      const std::uint32_t i = whole[j];
      write(groups_[i], groups_[i].codes_at, matches_[i], queries[i].places);
    }
    for (std::size_t j = 0; j < others_size; ++j) {
      const std::uint32_t i = others[j];
      if (groups_[i].is_known) {
        compare(queries[i], groups_[i]);
      } else {
        has_large_ = find_in_any_bucket(queries[i]) || has_large_;
      }
    }
  }
  /// Returns whether a count so far is large.
  [[nodiscard]] bool has_large() const { return has_large_; }

 private:
  static constexpr std::uint32_t kMostStrings = 32;
  /// No count is large in a string with so wide a code and so large a smallest count.
  static constexpr std::uint32_t kMostWidth = 31, kMostSmallest = (1u << 31) - 2;

  /// The strings of a group, in a bucket whose head has been read. Bits are counted from `bytes` on.
  struct FoundGroup {
    alignas(32) std::uint8_t left[kMostStrings], base_bits[kMostStrings];  ///< of the bucket's strings
    const char* bytes;
    const char* end_of_shard;          ///< and of what may be read
    std::uint32_t first, end;          ///< numbers of strings; equal where there is no such group
    std::uint32_t bases_at, codes_at;  ///< of the first one; of the bucket
    std::uint32_t flank_bases;
    bool is_known;  ///< false: this is not for such a bucket, or so near the end of the shard

    [[gnu::always_inline]] inline groups::FlankLengths lengths(std::uint32_t i) const {
      return {left[i], static_cast<std::uint8_t>(base_bits[i] / 2 - left[i])};
    }
    [[gnu::always_inline]] inline std::uint32_t kmers(std::uint32_t i) const {
      return base_bits[i] / 2 - flank_bases + 1;
    }
  };

  /// K-mers that a super-k-mer and a string have in common.
  struct StringMatch {
    std::uint32_t kmers;
    std::uint32_t from;       ///< number of the first in the super-k-mer
    std::uint32_t of_string;  ///< and in the string
  };

  /// Reads the head of a bucket, without a branch that depends on it.
  [[gnu::always_inline]] inline void find_group(const LookupQuery<Flanks>& query, FoundGroup& group) const {
    const groups::ShardLayout& layout = query.shard->layout;
    group.bytes = reinterpret_cast<const char*>(query.shard->words) + query.bucket_at / 8;
    group.end_of_shard =
        reinterpret_cast<const char*>(query.shard->words + query.shard->payload_words + kReadAheadWords);
    group.flank_bases = flank_bases_;
    group.first = group.end = group.bases_at = group.codes_at = 0;
    group.left[0] = group.base_bits[0] = 0;
    group.is_known = query.shard->layout.buckets > 0 && group.end_of_shard - group.bytes >= 64;
    if (!group.is_known) return;  // few
    const auto shift = static_cast<std::uint32_t>(query.bucket_at % 8);
    const std::uint64_t next = load_64(group.bytes) >> shift;
    const std::uint32_t zeros = groups::trailing_zeros(next | std::uint64_t{1} << 16);
    const std::uint32_t strings =
        least(static_cast<std::uint32_t>(groups::gamma_number(next, zeros) - 1), kMostStrings + 1);
    const std::uint32_t flags_at = 2 * zeros + 1;
    const std::uint64_t flags = (next >> flags_at) & below(strings);
    const std::uint32_t groups = groups::ones(flags), remainders_at = shift + flags_at + strings;
    const std::uint32_t lengths_at = remainders_at + groups * layout.remainder_bits;
    const std::uint32_t bases_at = lengths_at + strings * layout.length_bits;
    const __m512i head = _mm512_loadu_si512(group.bytes);
    const __m512i remainders =
        fields_32(head, remainders_at,
                  _mm512_mullo_epi32(lanes_32(), _mm512_set1_epi32(signed_of(layout.remainder_bits))),
                  layout.remainder_bits);
    const auto remainder =
        query.rest - static_cast<std::uint32_t>(layout.first_of(layout.bucket_of(query.rest)));
    const std::uint64_t same =
        _mm512_cmpeq_epi32_mask(remainders, _mm512_set1_epi32(signed_of(remainder))) & below(groups);
    const std::uint64_t here = _pdep_u64(same & -same, flags), behind = std::uint64_t{1} << strings;
    group.first = groups::trailing_zeros(here | behind);
    group.end = groups::trailing_zeros((flags & ~(2 * here - 1)) | behind);
    group.end = here == 0 ? group.first : group.end;
    const auto all = static_cast<__mmask32>(below(strings));
    const __m512i codes = fields_16(
        head, lengths_at, _mm512_mullo_epi16(lanes_16(), set1_epi16(layout.length_bits)), layout.length_bits);
    const bool has_large = _mm512_mask_cmpeq_epi16_mask(all, codes, set1_epi16(large_)) != 0;
    group.is_known = (strings <= kMostStrings) & (bases_at <= 512) & (groups <= 16) & !has_large;
    const __m256i base_bits = read_lengths(codes, all, group);
    const __m256i those = _mm256_maskz_mov_epi8(static_cast<__mmask32>(below(group.first)), base_bits);
    group.bases_at = group.first < group.end ? bases_at + sum_of_bytes(those) : 0;
    group.codes_at = bases_at + sum_of_bytes(base_bits);
    if (group.is_known) return;
    // Comparing with nothing reads no further than the head.
    group.first = group.end = group.bases_at = 0;
    group.left[0] = group.base_bits[0] = 0;
  }

  /// Takes apart codes of lengths. Returns the bits of bases, 0 behind the last string.
  [[gnu::always_inline]] inline __m256i read_lengths(__m512i codes, __mmask32 all, FoundGroup& group) const {
    const __m256i low = roots(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(codes)));
    __m256i high = _mm256_setzero_si256();
    if (all > UINT16_MAX) high = roots(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(codes, 1)));
    const __m512i a = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    const __m512i before =
        _mm512_srli_epi16(_mm512_mullo_epi16(a, _mm512_add_epi16(a, _mm512_set1_epi16(1))), 1);
    const __m512i bases = _mm512_add_epi16(_mm512_sub_epi16(codes, before), set1_epi16(flank_bases_));
    const __m256i base_bits = _mm512_maskz_cvtepi16_epi8(all, _mm512_add_epi16(bases, bases));
    _mm256_store_si256(reinterpret_cast<__m256i*>(group.left), _mm512_maskz_cvtepi16_epi8(all, a));
    _mm256_store_si256(reinterpret_cast<__m256i*>(group.base_bits), base_bits);
    return base_bits;
  }
  /// Returns a of codes a(a + 1) / 2 to a(a + 3) / 2. The roots of odd squares are exact.
  [[gnu::always_inline]] static inline __m256i roots(__m512i codes) {
    const __m512i square = _mm512_add_epi32(_mm512_slli_epi32(codes, 3), _mm512_set1_epi32(1));
    const __m512 root = _mm512_sqrt_ps(_mm512_cvtepi32_ps(square));
    const __m512 half = _mm512_mul_ps(_mm512_sub_ps(root, _mm512_set1_ps(1)), _mm512_set1_ps(0.5F));
    return _mm512_cvtepi32_epi16(_mm512_cvttps_epi32(half));
  }
  [[gnu::always_inline]] static inline std::uint32_t sum_of_bytes(__m256i bytes) {
    const __m256i sums = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
    const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    return static_cast<std::uint32_t>(_mm_extract_epi64(two, 0) + _mm_extract_epi64(two, 1));
  }

  /// Return the numbers of lanes.
  [[gnu::always_inline]] static inline __m512i lanes_32() {
    return _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  }
  [[gnu::always_inline]] static inline __m512i lanes_16() {
    return _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12,
                            11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  }

  [[gnu::always_inline]] static inline int signed_of(std::uint32_t v) { return static_cast<int>(v); }
  [[gnu::always_inline]] static inline __m512i set1_epi16(std::uint32_t v) {
    return _mm512_set1_epi16(static_cast<short>(v));
  }
  [[gnu::always_inline]] static inline std::uint64_t below(std::uint32_t i) {
    return (std::uint64_t{1} << i) - 1;
  }
  /// Returns the mask of the first `n` of 16 lanes, or of all.
  [[gnu::always_inline]] static inline __mmask16 first_lanes(std::uint32_t n) {
    return static_cast<__mmask16>(below(least(n, 16)));
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
    for (std::uint32_t i = 0; i < places.kmers; i += 16) {
      _mm512_mask_storeu_epi32(places.first + i, first_lanes(places.kmers - i), _mm512_setzero_si512());
    }
  }

  /// Compares with string `i`, whose bases begin at `bases_at`. Of a string behind the group's last one this
  /// is nonsense.
  [[gnu::always_inline]] static inline StringMatch match(const groups::FlankedSuperKmer<Flanks>& super,
                                                         const FoundGroup& group, std::uint32_t i,
                                                         std::uint32_t bases_at) {
    const groups::FlankLengths string = group.lengths(i % kMostStrings);
    const Flanks left = flank_at(group.bytes, bases_at, string.left);
    const Flanks right = flank_at(group.bytes, bases_at + 2 * string.left, string.right);
    const std::uint32_t a = groups::common_bases(left, super.left, least(string.left, super.left_bases));
    const std::uint32_t b = groups::common_bases(right, super.right, least(string.right, super.right_bases));
    const std::uint32_t kmers = a + b < group.flank_bases ? 0 : a + b - group.flank_bases + 1;
    return {i < group.end ? kmers : 0, super.left_bases - a, string.left - a};
  }

  /// Compares with all strings of a group.
  [[gnu::noinline]] void compare(const LookupQuery<Flanks>& query, const FoundGroup& group) {
    write_zeros(query.places);
    std::uint32_t answered = 0, codes_of = 0, bases_at = group.bases_at, codes_at = group.codes_at;
    for (std::uint32_t i = group.first; i < group.end; ++i) {
      const StringMatch here = match(query.super, group, i, bases_at);
      bases_at += group.base_bits[i];
      if (here.kmers == 0) continue;
      for (; codes_of < i; ++codes_of) codes_at = next_code(group, codes_at, i, codes_of);
      write(group, codes_at, here, query.places);
      answered += here.kmers;
      if (answered == query.places.kmers) return;
    }
  }

  [[gnu::always_inline]] static inline std::uint32_t least(std::uint32_t a, std::uint32_t b) {
    return a < b ? a : b;
  }
  [[gnu::always_inline]] static inline Flanks flank_at(const char* bytes, std::uint32_t at,
                                                       std::uint32_t bases) {
    return read_bits<Flanks>(reinterpret_cast<const std::uint64_t*>(bytes), at, 2 * bases);
  }

  /// The two numbers before the counts of a string.
  struct CodeHead {
    std::uint64_t smallest;
    std::uint32_t width, bits;  ///< of each count beyond the smallest, and of the head
    [[gnu::always_inline]] inline CodeHead(const char* bytes, std::uint32_t at) {
      const groups::GammaPair<std::uint64_t> both(load_64(bytes + at / 8) >> (at % 8));
      width = static_cast<std::uint32_t>(both.first - 1);
      smallest = both.second;
      bits = both.bits;
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
  [[gnu::always_inline]] static inline std::uint32_t next_code(const FoundGroup& group, std::uint32_t at,
                                                               std::uint32_t wanted, std::uint32_t& number) {
    const char* const bytes = group.bytes;
    const std::uint64_t next = load_64(bytes + at / 8) >> (at % 8);
    const std::uint32_t ones = groups::trailing_zeros(~next) / 2;
    if (ones > 0) {
      const std::uint32_t passed = least(ones, wanted - number);
      number += passed - 1;
      return at + 2 * passed;
    }
    const CodeHead head(bytes, at);
    return at + head.bits + head.width * group.kmers(number);
  }

  /// Writes the counts of k-mers that a string has, whose code is at `at`.
  [[gnu::always_inline]] inline void write(const FoundGroup& group, std::uint32_t at,
                                           const StringMatch& match, const CountPlaces& places) {
    const char* const bytes = group.bytes;
    const std::uint32_t from = match.of_string, number = match.kmers;
    const bool is_forward = places.is_forward;
    std::uint32_t* const to = places.of(match.from, number);
    const CodeHead head(bytes, at);
    const std::uint32_t first = at + head.bits + from * head.width;
    const char* const packed = bytes + first / 8;
    if (head.width > kMostWidth || number * head.width > 504 || head.smallest > kMostSmallest ||
        group.end_of_shard - packed < 64) {
      const groups::BitCursor beyond{reinterpret_cast<const std::uint64_t*>(bytes), at + head.bits};
      has_large_ =
          write_counts({beyond, head.smallest, head.width, 0}, from, number, is_forward, to) || has_large_;
      return;
    }
    // No more is read than most have: what lies behind a bucket is not on its way.
    const __m512i data =
        number * head.width <= 248
            ? _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(packed)))
            : _mm512_loadu_si512(packed);
    // Lane i takes the i-th k-mer of the text.
    const std::uint32_t at_first = first % 8 + (is_forward ? 0 : (number - 1) * head.width);
    const __m512i step = _mm512_set1_epi32(signed_of(is_forward ? head.width : 0 - head.width));
    const __m512i smallest = _mm512_set1_epi32(signed_of(static_cast<std::uint32_t>(head.smallest)));
    for (std::uint32_t i = 0; i < number; i += 16) {
      const __m512i lane = _mm512_add_epi32(lanes_32(), _mm512_set1_epi32(signed_of(i)));
      const __m512i beyond = fields_32(data, at_first, _mm512_mullo_epi32(lane, step), head.width);
      _mm512_mask_storeu_epi32(to + i, first_lanes(number - i), _mm512_add_epi32(beyond, smallest));
    }
  }

  std::uint32_t flank_bases_, large_;
  bool has_large_ = false;
  FoundGroup groups_[kSuperKmersAtOnce];
  StringMatch matches_[kSuperKmersAtOnce];
};
template <class Flanks>
using AvailableSteps = LaneSteps<Flanks>;
#else
template <class Flanks>
class NoLaneSteps {
 public:
  [[gnu::always_inline]] inline explicit NoLaneSteps(std::uint32_t /*flank_bases*/) {}
  template <class FetchAhead>
  [[gnu::always_inline]] inline void find(const LookupQuery<Flanks>* queries, std::size_t n,
                                          FetchAhead&& fetch_ahead) {
    for (std::size_t i = 0; i < n; ++i) {
      has_large_ = find_in_any_bucket(queries[i]) || has_large_;
      fetch_ahead(i);
    }
  }
  [[nodiscard]] bool has_large() const { return has_large_; }

 private:
  bool has_large_ = false;
};
template <class Flanks>
using AvailableSteps = NoLaneSteps<Flanks>;
#endif

/// Super-k-mers on their way: those that are compared, those whose buckets are on the way from memory, and
/// those whose offsets are.
template <int Words>
class StringLookup {
 public:
  [[gnu::always_inline]] inline StringLookup(const groups::ShardBits* shards, std::uint32_t k,
                                             std::span<const AskedSuperKmer<Words>> asked,
                                             std::uint32_t* counts)
      : shards_(shards),
        asked_(asked),
        counts_(counts),
        flank_bases_(groups::GroupShape(k).flank_bases()),
        format_(groups::GroupShape(k)),
        lanes_(flank_bases_) {}

  /// Returns whether a count is large.
  [[gnu::always_inline]] inline bool find_all() {
    const std::size_t n = asked_.size();
    for (std::size_t i = 0; i < n && i < 2 * kSuperKmersAtOnce; ++i) take(i);
    for (std::size_t i = 0; i < n && i < kSuperKmersAtOnce; ++i) locate(i);
    for (std::size_t begin = 0; begin < n; begin += kSuperKmersAtOnce) {
      const std::size_t size = n - begin < kSuperKmersAtOnce ? n - begin : kSuperKmersAtOnce;
      lanes_.find(
          &query(begin), size, [&](std::size_t i) __attribute__((always_inline)) {
            const std::size_t located = begin + i + kSuperKmersAtOnce, taken = located + kSuperKmersAtOnce;
            if (taken < n) take(taken);
            if (located < n) locate(located);
          });
    }
    return lanes_.has_large();
  }

 private:
  static constexpr std::size_t kQueries = 4 * kSuperKmersAtOnce;  ///< a power of two
  using Flanks = typename groups::FlankedWordFormat<Words>::Flanks;

  [[gnu::always_inline]] inline LookupQuery<Flanks>& query(std::size_t i) { return queries_[i % kQueries]; }
  [[gnu::always_inline]] inline void take(std::size_t i) {
    const AskedSuperKmer<Words>& asked = asked_[i];
    LookupQuery<Flanks>& taken = query(i);
    taken.shard = shards_ + asked.shard;
    taken.super = format_.super_kmer(asked.word);
    taken.rest = format_.rest(asked.word);
    taken.places = {counts_ + asked.start,
                    taken.super.left_bases + taken.super.right_bases - flank_bases_ + 1, asked.is_forward};
    taken.shard->prefetch_offset(taken.rest);
  }
  [[gnu::always_inline]] inline void locate(std::size_t i) {
    LookupQuery<Flanks>& located = query(i);
    const groups::ShardBits& shard = *located.shard;
    __builtin_prefetch(located.places.first, 1);
    __builtin_prefetch(located.places.first + located.places.kmers - 1, 1);
    located.bucket_at = 0;
    if (shard.layout.buckets == 0) return;
    located.bucket_at = shard.part(shard.layout.bucket_of(located.rest)).at;
    const auto* const bucket = reinterpret_cast<const char*>(shard.words) + located.bucket_at / 8;
    __builtin_prefetch(bucket);
    __builtin_prefetch(bucket + 64);
  }

  const groups::ShardBits* shards_;
  std::span<const AskedSuperKmer<Words>> asked_;
  std::uint32_t* counts_;
  std::uint32_t flank_bases_;
  groups::FlankedWordFormat<Words> format_;
  AvailableSteps<Flanks> lanes_;
  LookupQuery<Flanks> queries_[kQueries];  ///< of the super-k-mers that are on their way
};

template <int Words>
bool find_strings(const groups::ShardBits* shards, std::uint32_t k, const AskedSuperKmer<Words>* asked,
                  std::size_t size, std::uint32_t* counts) {
  return StringLookup<Words>(shards, k, {asked, size}, counts).find_all();
}
