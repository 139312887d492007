/// Kernels of the packed table (PackedTable). Included behind kernels_body.h, in the same way and with the
/// same rules.

/// The words of a window that are in use, and those among them that hold a hash.
struct PackedMatch {
  std::uint32_t used, same;
};

/// `tag`: the rest of a hash at the top, zeros for the count.
[[gnu::always_inline]] inline PackedMatch match_window(const std::uint64_t* window, std::uint64_t tag,
                                                       std::uint64_t count_mask) {
#if defined(__AVX512F__)
  const __m512i words = _mm512_load_si512(window);
  const std::uint32_t used = _mm512_test_epi64_mask(words, words);
  const __m512i rests = _mm512_andnot_si512(_mm512_set1_epi64(static_cast<long long>(count_mask)), words);
  return {used, _mm512_mask_cmpeq_epi64_mask(static_cast<__mmask8>(used), rests,
                                             _mm512_set1_epi64(static_cast<long long>(tag)))};
#elif defined(__AVX2__)
  const __m256i mask = _mm256_set1_epi64x(static_cast<long long>(count_mask));
  const __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(tag));
  std::uint32_t free = 0, same = 0;
  for (int half = 0; half < 2; ++half) {
    const __m256i words = _mm256_load_si256(reinterpret_cast<const __m256i*>(window) + half);
    const __m256i is_free = _mm256_cmpeq_epi64(words, _mm256_setzero_si256());
    const __m256i is_same = _mm256_cmpeq_epi64(_mm256_andnot_si256(mask, words), wanted);
    free |= static_cast<std::uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(is_free))) << (4 * half);
    same |= static_cast<std::uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(is_same))) << (4 * half);
  }
  return {free ^ 0xFF, same & ~free};
#else
  std::uint32_t used = 0, same = 0;
  for (int i = 0; i < kPackedWindow; ++i) {
    used |= static_cast<std::uint32_t>(window[i] != 0) << i;
    same |= static_cast<std::uint32_t>((window[i] & ~count_mask) == tag) << i;
  }
  return {used, same & used};
#endif
}

/// It is as good as random whether a hash is known or new, so nothing branches on it.
std::size_t insert_packed(PackedTable& table, const HashList<Key64>& list, std::size_t first) {
  constexpr std::size_t kAhead = 32;
  std::uint64_t* const words = table.words;
  const std::uint32_t rest_bits = table.rest_bits, count_bits = table.count_bits;
  const std::uint64_t count_mask = (std::uint64_t{1} << count_bits) - 1;
  std::size_t i = first;
  while (i < list.size && has_room(table, kInsertKeys)) {
    const std::size_t end = list.size - i < kInsertKeys ? list.size : i + kInsertKeys;
    std::size_t added = 0;
    for (; i < end; ++i) {
      const Key64 ahead = list.keys[i + kAhead < list.size ? i + kAhead : i];
      __builtin_prefetch(words + (ahead >> rest_bits) * kPackedWindow, 1);
      const Key64 key = list.keys[i];
      const std::uint32_t count = list.weights[i];
      std::uint64_t* const window = words + (key >> rest_bits) * kPackedWindow;
      const std::uint64_t tag = key << count_bits;
      const PackedMatch match = match_window(window, tag, count_mask);
      const std::uint32_t free = match.used ^ 0xFF, is_new = match.same == 0 ? 1 : 0;
      const int slot = std::countr_zero(match.same | (free & -is_new) | 0x100);
      const std::uint64_t before = slot < kPackedWindow ? window[slot] : 0;
      if (slot == kPackedWindow || (before & count_mask) + count > count_mask) [[unlikely]] {
        note(table, table::Insertion{false, false, false}, key, count);
        continue;
      }
      window[slot] = (before | tag) + count;
      added += is_new;
    }
    table.size += added;
  }
  return i;
}

void widen_packed(const PackedTable& from, PackedTable& to) {
  const std::uint64_t count_mask = (std::uint64_t{1} << from.count_bits) - 1;
  for (std::size_t number = 0; number < std::size_t{1} << from.window_bits; ++number) {
    const std::uint64_t* const window = from.words + number * kPackedWindow;
    // The former top bit of the rest says which of two windows.
    std::uint64_t* half[2] = {to.words + 2 * number * kPackedWindow,
                              to.words + (2 * number + 1) * kPackedWindow};
    for (int i = 0; i < kPackedWindow; ++i) {
      if (window[i] == 0) continue;
      *half[window[i] >> 63]++ = ((window[i] & ~count_mask) << 1) | (window[i] & count_mask);
    }
  }
  to.size = from.size;
}

#if defined(__AVX512F__)

void harvest_packed(const PackedTable& table, Key64* keys, std::uint64_t* counts) {
  const std::size_t windows = std::size_t{1} << table.window_bits;
  const __m128i count_bits = _mm_cvtsi32_si128(static_cast<int>(table.count_bits));
  const __m512i ones = _mm512_set1_epi64(-1);
  const std::uint32_t rest_bits = table.rest_bits;
  std::size_t size = 0;
  for (std::size_t number = 0; number < windows; ++number) {
    __m512i words = _mm512_load_si512(table.words + number * kPackedWindow);
    const __mmask8 used = _mm512_test_epi64_mask(words, words);
    words = sort_lanes(_mm512_mask_mov_epi64(ones, used, words));  // free ones behind all others
    const Key64 home_bits = Key64{number} << rest_bits;
    const __m512i home = _mm512_set1_epi64(static_cast<long long>(home_bits));
    _mm512_storeu_si512(keys + size, _mm512_or_si512(home, _mm512_srl_epi64(words, count_bits)));
    _mm512_storeu_si512(counts + size, _mm512_andnot_si512(_mm512_sll_epi64(ones, count_bits), words));
    size += static_cast<std::size_t>(std::popcount(static_cast<std::uint32_t>(used)));
  }
}

#else

void harvest_packed(const PackedTable& table, Key64* keys, std::uint64_t* counts) {
  const std::uint64_t count_mask = (std::uint64_t{1} << table.count_bits) - 1;
  std::size_t size = 0;
  for (std::size_t number = 0; number < std::size_t{1} << table.window_bits; ++number) {
    const std::uint64_t* const words = table.words + number * kPackedWindow;
    alignas(64) Key64 window[kPackedWindow];
    std::uint32_t used = 0;
    for (int i = 0; i < kPackedWindow; ++i) {
      window[i] = words[i] - 1;  // free ones behind all others
      used += words[i] != 0 ? 1 : 0;
    }
    alignas(64) std::uint64_t ranks[kPackedWindow];
    rank_window(window, ranks);
    const Key64 home = Key64{number} << table.rest_bits;
    for (int i = 0; i < kPackedWindow; ++i) {
      keys[size + ranks[i]] = home | (words[i] >> table.count_bits);
      counts[size + ranks[i]] = words[i] & count_mask;
    }
    size += used;
  }
}

#endif

constexpr PackedKernels kPackedKernels = {insert_packed, widen_packed, harvest_packed};
