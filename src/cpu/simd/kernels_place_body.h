/// The minimizers of k-mers that come one by one. Included behind kernels_cut_body.h, in the same way and
/// with the same rules. The loops over k-mers have no branches; the compiler makes vectors of them.

/// K-mers whose words stay in the first-level cache.
constexpr std::size_t kPlacedTogether = 64;

/// Both strands of some k-mers, their m-mers with the first base lowest: word by word.
template <int Words>
struct StrandWords {
  std::uint64_t forward[Words][kPlacedTogether], backward[Words][kPlacedTogether];
};

template <class Key, int Words>
[[gnu::always_inline]] inline void split_strands(const Key* kmers, std::size_t n, std::uint32_t k,
                                                 StrandWords<Words>& strands) {
  for (std::size_t i = 0; i < n; ++i) {
    const Key forward = ~reverse_complement(kmers[i], k), backward = ~kmers[i];
    for (int w = 0; w < Words; ++w) {
      strands.forward[w][i] = static_cast<std::uint64_t>(forward >> (64 * w));
      strands.backward[w][i] = static_cast<std::uint64_t>(backward >> (64 * w));
    }
  }
}

/// Returns the 32 bits of a k-mer from a bit on. Those above the k-mer have no meaning.
template <int Words>
[[gnu::always_inline]] inline std::uint32_t bits_at(const std::uint64_t (&words)[Words][kPlacedTogether],
                                                    std::size_t i, std::uint32_t bit) {
  if constexpr (Words == 1) {
    return static_cast<std::uint32_t>(words[0][i] >> bit);
  } else {
    if (bit >= 64) return static_cast<std::uint32_t>(words[1][i] >> (bit - 64));
    return static_cast<std::uint32_t>((words[0][i] >> bit) | ((words[1][i] << 1) << (63 - bit)));
  }
}

template <class Key>
void find_minimizers(const Key* kmers, std::size_t size, const FlankedCutParams& params,
                     groups::SmallestMmer* out) {
  constexpr int kWords = sizeof(Key) / 8;
  const MmerRule rule(minimizer_length(params.k), params.canonical);
  const std::uint32_t flank_bases = params.k - rule.m;
  StrandWords<kWords> strands;
  std::uint32_t first[kPlacedTogether], last[kPlacedTogether];
  for (std::size_t begin = 0; begin < size; begin += kPlacedTogether) {
    const std::size_t n = std::min(kPlacedTogether, size - begin);
    split_strands(kmers + begin, n, params.k, strands);
    for (std::size_t i = 0; i < n; ++i) first[i] = last[i] = UINT32_MAX;
    for (std::uint32_t at = 0; at <= flank_bases; ++at) {
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t a = bits_at(strands.forward, i, 2 * at) & rule.mask;
        const std::uint32_t b =
            (bits_at(strands.backward, i, 2 * (flank_bases - at)) & rule.mask) | rule.as_read;
        groups::SmallestMmer smallest{first[i], last[i]};
        smallest.note(at, a < b ? a : b);
        first[i] = smallest.first;
        last[i] = smallest.last;
      }
    }
    for (std::size_t i = 0; i < n; ++i) out[begin + i] = {first[i], last[i]};
  }
}
