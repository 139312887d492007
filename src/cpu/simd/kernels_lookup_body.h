/// Kernels that look super-k-mers up in the strings of a shard (groups/string_lookup.h is the definition).
/// Included behind kernels_fields_body.h, in the same way and with the same rules as kernels_body.h.

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

#if defined(__AVX2__)
/// Looks up super-k-mers. What makes lookups slow is not the work but branches that nobody can
/// predict: how many strings stand before the group, how many k-mers agree. So all fields in the head of a
/// bucket, mostly less than 512 bits, are taken at once (FieldLanes); and the steps of a lookup are taken for
/// many super-k-mers before the next ones, so that a wrong guess throws away little.
template <class Flanks>
class LaneSteps {
 public:
  [[gnu::always_inline]] inline explicit LaneSteps(std::uint32_t flank_bases) : flank_bases_(flank_bases) {}

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
  /// No count is large in a string with so large a smallest count and fields that FieldLanes can take.
  static constexpr std::uint32_t kMostSmallest = (1u << 31) - 2;

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
    group.is_known = layout.buckets > 0 && layout.remainder_bits <= FieldLanes::kMostBits &&
                     group.end_of_shard - group.bytes >= FieldLanes::kHeadBytes;
    if (!group.is_known) return;  // few
    const auto shift = static_cast<std::uint32_t>(query.bucket_at % 8);
    const std::uint64_t next = load_64(group.bytes) >> shift;
    const std::uint32_t zeros = groups::trailing_zeros(next | std::uint64_t{1} << 16);
    const std::uint32_t strings =
        least(static_cast<std::uint32_t>(groups::gamma_number(next, zeros) - 1), kMostStrings + 1);
    const std::uint32_t flags_at = 2 * zeros + 1;
    const std::uint64_t flags = (next >> flags_at) & first_bits(strings);
    const std::uint32_t groups = groups::ones(flags), remainders_at = shift + flags_at + strings;
    const std::uint32_t lengths_at = remainders_at + groups * layout.remainder_bits;
    const std::uint32_t bases_at = lengths_at + strings * layout.length_bits;
    const auto remainder =
        query.rest - static_cast<std::uint32_t>(layout.first_of(layout.bucket_of(query.rest)));
    const std::uint64_t same =
        FieldLanes::equal(group.bytes, remainders_at, layout.remainder_bits, remainder) & first_bits(groups);
    const std::uint64_t here = FieldLanes::flag_of(same, flags), behind = std::uint64_t{1} << strings;
    group.first = groups::trailing_zeros(here | behind);
    group.end = groups::trailing_zeros((flags & ~(2 * here - 1)) | behind);
    group.end = here == 0 ? group.first : group.end;
    const StringSizes sizes =
        FieldLanes::sizes(group.bytes, lengths_at, layout.length_bits, strings, flank_bases_);
    _mm256_store_si256(reinterpret_cast<__m256i*>(group.left), sizes.left);
    _mm256_store_si256(reinterpret_cast<__m256i*>(group.base_bits), sizes.base_bits);
    const bool has_large = has_byte(sizes.left, flank_bases_ + 1);
    group.is_known =
        (strings <= kMostStrings) & (bases_at <= 512) & (groups <= FieldLanes::kMostGroups) & !has_large;
    const __m256i before = _mm256_and_si256(sizes.base_bits, first_bytes(group.first));
    group.bases_at = group.first < group.end ? bases_at + sum_of_bytes(before) : 0;
    group.codes_at = bases_at + sum_of_bytes(sizes.base_bits);
    if (group.is_known) return;
    // Comparing with nothing reads no further than the head.
    group.first = group.end = group.bases_at = 0;
    group.left[0] = group.base_bits[0] = 0;
  }

  [[gnu::always_inline]] static inline std::uint64_t load_64(const char* bytes) {
    std::uint64_t value;
    __builtin_memcpy(&value, bytes, 8);
    return value;
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
    FieldLanes::write_zeros(query.places.kmers, query.places.first);
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
    if (head.width > FieldLanes::kMostBits || number * head.width > 504 || head.smallest > kMostSmallest ||
        group.end_of_shard - (bytes + first / 8) < 64 + 16) {
      const groups::BitCursor beyond{reinterpret_cast<const std::uint64_t*>(bytes), at + head.bits};
      has_large_ =
          write_counts({beyond, head.smallest, head.width, 0}, from, number, is_forward, to) || has_large_;
      return;
    }
    FieldLanes::write_sums(bytes, first, head.width, number, static_cast<std::uint32_t>(head.smallest),
                           is_forward, to);
  }

  std::uint32_t flank_bases_;
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
