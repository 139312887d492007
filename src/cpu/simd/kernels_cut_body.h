/// The window minima that cutting goes by. Included behind kernels_body.h, in the same way and with the same
/// rules.

/// Says which m-mers are hashed.
struct MmerRule {
  std::uint32_t m, mask;
  /// Or-ed to an m-mer's other strand: as read, an m-mer is always before it.
  std::uint32_t as_read;

  [[gnu::always_inline]] inline MmerRule(std::uint32_t length, bool canonical)
      : m(length), mask((1u << (2 * length)) - 1), as_read(canonical ? 0 : 0x7FFFFFFF) {}
};

/// `minimizer_hash` of m-mers, given the smaller strand of each.
template <class Lanes>
[[gnu::always_inline]] inline Lanes minimizer_hash_lanes(Lanes mmers) {
  Lanes x = (mmers ^ 0x5BD1E995u) * 0x9E3779B1u;
  x ^= x >> 16;
  return x * 0x85EBCA6Bu;
}

/// 32 bases and their other strand, in which the 16 m-mers are that start in the first half: each strand's
/// are one 64-bit constant shifted by twice the lane's number.
struct MmerBases {
  std::uint64_t bases, other;
  std::uint32_t mask, as_read;

  [[gnu::always_inline]] inline MmerBases(const std::uint64_t* packed, std::size_t first,
                                          const MmerRule& rule)
      : bases(bits_from(packed, 2 * first)),
        other(reverse_pairs(~bases) >> (34 - 2 * rule.m)),
        mask(rule.mask),
        as_read(rule.as_read) {}

  /// Returns the hashes of the m-mers that start at half the bits `up`.
  template <class Lanes>
  [[gnu::always_inline]] inline Lanes hashes(Lanes up) const {
    const Lanes down = 30 - up;
    const Lanes forward = (static_cast<std::uint32_t>(bases) >> up) |
                          (((Lanes{} + static_cast<std::uint32_t>(bases >> 32)) << 1) << (31 - up));
    const Lanes reverse = (static_cast<std::uint32_t>(other) >> down) |
                          (((Lanes{} + static_cast<std::uint32_t>(other >> 32)) << 1) << (31 - down));
    const Lanes a = forward & mask, b = (reverse & mask) | as_read;
    return minimizer_hash_lanes(a < b ? a : b);
  }
};

/// Windows have 3 to 64 m-mers. The distances that the passes of a sliding minimum look: the minimum over c +
/// d elements is that over c, here and d <= c further on.
struct MinimumPasses {
  std::uint32_t distance[8];
  int number = 0;
  [[gnu::always_inline]] inline explicit MinimumPasses(std::uint32_t window, std::uint32_t most) {
    for (std::uint32_t covered = 1; covered < window; covered += distance[number++]) {
      const std::uint32_t furthest = covered < most ? covered : most;
      distance[number] = window - covered < furthest ? window - covered : furthest;
    }
  }
};

#if defined(__AVX512F__)

/// Passes one behind the other, without going through memory: each holds back one vector, because it needs
/// what follows. Members of their own, not arrays: these the compiler may keep on the stack.
template <int Passes>
struct PassChain {
  __m512i held, ahead;
  PassChain<Passes - 1> next;

  [[gnu::always_inline]] inline explicit PassChain(const std::uint32_t* distance)
      : held(_mm512_setzero_si512()),
        ahead(_mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                               _mm512_set1_epi32(static_cast<int>(*distance)))),
        next(distance + 1) {}
  [[gnu::always_inline]] inline __m512i push(__m512i v) {
    const __m512i here = held;
    held = v;
    return next.push(_mm512_min_epu32(here, _mm512_permutex2var_epi32(here, ahead, v)));
  }
};
template <>
struct PassChain<0> {
  [[gnu::always_inline]] inline explicit PassChain(const std::uint32_t*) {}
  [[gnu::always_inline]] inline __m512i push(__m512i v) { return v; }
};

/// Does all passes in one, so that minima come `Passes` vectors late. `hashes(i)` returns the hashes of 16
/// m-mers from number i on; calls `found(minima, i)`.
template <int Passes, class Hashes, class Found>
[[gnu::always_inline]] inline void minimize(std::size_t mmers, std::uint32_t window,
                                            const MinimumPasses& passes, const Hashes& hashes,
                                            const Found& found) {
  PassChain<Passes> chain(passes.distance);
  std::size_t i = 0;
  __m512i last = _mm512_setzero_si512();
  for (; i < mmers; i += 16) {
    last = hashes(i);
    const __m512i v = chain.push(last);
    if (i >= 16 * Passes) found(v, i - 16 * Passes);
  }
  // The last windows that are whole are pushed out by what no such window reaches.
  for (; i < mmers - window + 1 + 16 * Passes; i += 16) {
    const __m512i v = chain.push(last);
    if (i >= 16 * Passes) found(v, i - 16 * Passes);
  }
}

/// Does so with as many passes as a window needs.
template <class Hashes, class Found>
[[gnu::always_inline]] inline void minimize_windows(std::size_t mmers, std::uint32_t window,
                                                    const Hashes& hashes, const Found& found) {
  const MinimumPasses passes(window, 16);
  switch (passes.number) {
    case 2:
      return minimize<2>(mmers, window, passes, hashes, found);
    case 3:
      return minimize<3>(mmers, window, passes, hashes, found);
    case 4:
      return minimize<4>(mmers, window, passes, hashes, found);
    case 5:
      return minimize<5>(mmers, window, passes, hashes, found);
    case 6:
      return minimize<6>(mmers, window, passes, hashes, found);
    default:
      return minimize<7>(mmers, window, passes, hashes, found);
  }
}

/// Finds, for each m-mer hash of a stretch, the smallest of the window that starts there (nothing meaningful
/// for the last window - 1).
[[gnu::always_inline]] inline void window_minima(const std::uint64_t* packed, std::size_t first,
                                                 std::size_t mmers, const MmerRule& rule,
                                                 std::uint32_t window, std::uint32_t* values) {
  minimize_windows(
      mmers, window,
      [=](std::size_t i) __attribute__((always_inline)) {
        return reinterpret_cast<__m512i>(MmerBases(packed, first + i, rule).hashes(kTwiceIota32));
      },
      [=](__m512i minima, std::size_t i)
          __attribute__((always_inline)) { _mm512_storeu_si512(values + i, minima); });
}

#else

/// Vectors of one register: larger ones the compiler stores by way of the stack.
#if defined(__AVX2__)
using StepLanes32 = HalfLanes32;
constexpr StepLanes32 kTwiceStepIota32 = {0, 2, 4, 6, 8, 10, 12, 14};
#else
using StepLanes32 = std::uint32_t __attribute__((vector_size(16), aligned(4), may_alias));
constexpr StepLanes32 kTwiceStepIota32 = {0, 2, 4, 6};
[[gnu::always_inline]] inline void store(std::uint32_t* p, StepLanes32 v) {
  __builtin_memcpy(p, &v, sizeof v);
}
#endif
constexpr std::uint32_t kStep = sizeof(StepLanes32) / 4;

[[gnu::always_inline]] inline StepLanes32 load_step(const std::uint32_t* p) {
  StepLanes32 v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

/// Finds, for each m-mer hash of a stretch, the smallest of the window that starts there (nothing meaningful
/// for the last window - 1). Writes the hashes themselves to `hashes`, unless it is null.
[[gnu::always_inline]] inline void window_minima(const std::uint64_t* packed, std::size_t first,
                                                 std::size_t mmers, const MmerRule& rule,
                                                 std::uint32_t window, std::uint32_t* values,
                                                 std::uint32_t* hashes = nullptr) {
  for (std::size_t i = 0; i < mmers; i += 16) {
    const MmerBases here(packed, first + i, rule);
    for (std::uint32_t j = 0; j < 16; j += kStep) {
      const StepLanes32 step = here.hashes<StepLanes32>(kTwiceStepIota32 + 2 * j);
      store(values + i + j, step);
      if (hashes != nullptr) store(hashes + i + j, step);
    }
  }
  const MinimumPasses passes(window, window);
  for (int pass = 0; pass < passes.number; ++pass) {
    const std::uint32_t distance = passes.distance[pass];
    for (std::size_t i = 0; i < mmers; i += kStep) {
      const StepLanes32 a = load_step(values + i), b = load_step(values + i + distance);
      store(values + i, a < b ? a : b);
    }
  }
}

#endif

/// Returns a mask in which bit i says that values[i] differs from the one before it. 64 at a time.
[[gnu::always_inline]] inline std::uint64_t changes(const std::uint32_t* values) {
  std::uint64_t mask = 0;
#if defined(__AVX512F__)
  for (int i = 0; i < 4; ++i) {
    const __m512i here = _mm512_loadu_si512(values + 16 * i),
                  before = _mm512_loadu_si512(values + 16 * i - 1);
    mask |= static_cast<std::uint64_t>(_mm512_cmpneq_epi32_mask(here, before)) << (16 * i);
  }
#elif defined(__AVX2__)
  for (int i = 0; i < 8; ++i) {
    const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + 8 * i));
    const __m256i before = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + 8 * i - 1));
    const __m256 same = _mm256_castsi256_ps(_mm256_cmpeq_epi32(here, before));
    mask |= static_cast<std::uint64_t>(_mm256_movemask_ps(same) ^ 0xFF) << (8 * i);
  }
#elif defined(__SSE2__)
  for (int i = 0; i < 16; ++i) {
    const __m128i here = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values + 4 * i));
    const __m128i before = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values + 4 * i - 1));
    const __m128 same = _mm_castsi128_ps(_mm_cmpeq_epi32(here, before));
    mask |= static_cast<std::uint64_t>(_mm_movemask_ps(same) ^ 0xF) << (4 * i);
  }
#else
  for (int i = 0; i < 64; ++i) mask |= static_cast<std::uint64_t>(values[i] != values[i - 1]) << i;
#endif
  return mask;
}

/// Returns the low `bits` bits of 64. `bits` is at most 255, and may be negative.
[[gnu::always_inline]] inline std::uint64_t low_bits(std::uint64_t x, std::int32_t bits) {
#if defined(__BMI2__)
  return _bzhi_u64(x, static_cast<std::uint32_t>(bits < 0 ? 0 : bits));  // up to 255
#else
  return bits >= 64 ? x : bits <= 0 ? 0 : x & ((std::uint64_t{1} << bits) - 1);
#endif
}
