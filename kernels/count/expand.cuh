#pragma once
/// A warp expands super-k-mers of a bin into hashes of k-mers, evenly over its lanes.

#include <cstdint>

#include "kernels/count/pending.cuh"
#include "kernels/warps/warp_scan.cuh"
#include "kmer/hash.h"
#include "kmer/super_kmer.h"

namespace warpmer::gpu {

/// The places of the words of a bin, or of some neighbouring bins, segment after segment. It lies in shared
/// memory.
template <int Words>
struct BinLocator {
  std::uint32_t size;                 ///< words
  std::uint32_t ends[kMostSegments];  ///< number of words up to the end of each segment
  const SuperKmer<Words>*
      from[kMostSegments];  ///< for each segment, the address at which word 0 of the bin would be

  /// The first warp of a block calls this. The block reads the result after a barrier.
  __device__ void locate(const SegmentView<Words>* segments, std::uint32_t segment_count, std::uint32_t bin,
                         std::uint32_t bins) {
    if (threadIdx.x >= 32) return;
    std::uint32_t before = 0;
    for (std::uint32_t first = 0; first < segment_count; first += 32) {
      const std::uint32_t s = first + threadIdx.x;
      std::uint32_t n = 0;
      const SuperKmer<Words>* begin = nullptr;
      if (s < segment_count) {
        const SegmentView<Words> view = segments[s];
        const std::uint32_t offset = view.offsets[bin];
        n = view.offsets[bin + bins] - offset;
        begin = view.words + offset;
      }
      const std::uint32_t end = before + warp_inclusive_sum(n);
      if (s < segment_count) {
        ends[s] = end;
        from[s] = begin - (end - n);
      }
      before = __shfl_sync(~0u, end, 31);
    }
    if (threadIdx.x == 0) size = before;
  }
};

/// The words of a bin.
template <int Words>
class BinWords {
 public:
  __device__ explicit BinWords(const BinLocator<Words>& places) : places_(places), size_(places.size) {}

  [[nodiscard]] __device__ std::uint32_t size() const { return size_; }
  /// Returns word number `i`, which is below size().
  [[nodiscard]] __device__ SuperKmer<Words> operator[](std::uint32_t i) const {
    std::uint32_t segment = 0;
    while (places_.ends[segment] <= i) ++segment;
    SuperKmer<Words> word{};
    const auto* from = reinterpret_cast<const uint4*>(places_.from[segment] + i);
    auto* to = reinterpret_cast<uint4*>(&word);
#pragma unroll
    for (int w = 0; w < Words / 2; ++w) to[w] = __ldcs(from + w);
    return word;
  }

 private:
  const BinLocator<Words>& places_;
  std::uint32_t size_;
};

/// The words that a warp is expanding, as their reader leaves them, and the begins of their k-mers. Each warp
/// has one in shared memory.
template <int Words>
struct ExpandScratch {
  static constexpr std::uint32_t kMostKmers = 32 * SuperKmer<Words>::kMaxKmers;
  std::uint32_t forward[2 * Words][32];  ///< 32 bits of each word in a row
  std::uint32_t reverse[2 * Words][32];
  std::uint32_t begin_bits[kMostKmers / 32];  ///< bit t: a word's first k-mer is number t
  std::uint16_t begins[32];
  std::uint16_t ends[32];
};

template <class Key, int Words>
class Expander {
 public:
  __device__ Expander(ExpandScratch<Words>& scratch, std::uint32_t k, bool canonical)
      : scratch_(scratch), hash_(k), k_(k), canonical_(canonical), lane_(threadIdx.x % 32) {}

  /// Calls `take(there, hash, word, offset)` on all lanes of the warp until every k-mer of the words `first`
  /// to `end` - 1, at most 32, has been on one lane once; the k-mer is number `offset` of `word`. A lane
  /// without a k-mer gets `there` false.
  template <class Take>
  __device__ void for_each(const BinWords<Words>& words, std::uint32_t first, std::uint32_t end,
                           Take&& take) {
    const std::uint32_t kmers = load(words, first, end);
    std::uint32_t words_before = 0;
    for (std::uint32_t t = lane_; t - lane_ < kmers; t += 32) {
      const std::uint32_t bits = scratch_.begin_bits[t / 32];
      const bool there = t < kmers;
      Key hash{};
      std::uint32_t word = 0, offset = 0;
      if (there) {
        word = words_before + __popc(bits & (~0u >> (31 - lane_))) - 1;
        offset = t - scratch_.begins[word];
        hash = hash_of(word, t);
      }
      take(there, hash, first + word, offset);
      words_before += __popc(bits);
    }
  }

 private:
  /// Loads words, and finds out which k-mer belongs to which word. Returns the number of their k-mers.
  __device__ std::uint32_t load(const BinWords<Words>& words, std::uint32_t first,
                                std::uint32_t end_of_words) {
    const std::uint32_t i = first + lane_;
    std::uint32_t kmers = 0;
    SuperKmer<Words> word{};
    if (i < end_of_words) {
      word = words[i];
      kmers = word.kmers();
    }
    const std::uint32_t end = warp_inclusive_sum(kmers);
    const std::uint32_t total = __shfl_sync(~0u, end, 31);
    __syncwarp();  // no lane reads the words before any more
    for (std::uint32_t b = lane_; b < (total + 31) / 32; b += 32) scratch_.begin_bits[b] = 0;
    const SuperKmerReader<Key, Words> reader(word, k_);
#pragma unroll
    for (int w = 0; w < Words; ++w) {
      scratch_.forward[2 * w][lane_] = static_cast<std::uint32_t>(reader.forward_words()[w]);
      scratch_.forward[2 * w + 1][lane_] = static_cast<std::uint32_t>(reader.forward_words()[w] >> 32);
      scratch_.reverse[2 * w][lane_] = static_cast<std::uint32_t>(reader.reverse_words()[w]);
      scratch_.reverse[2 * w + 1][lane_] = static_cast<std::uint32_t>(reader.reverse_words()[w] >> 32);
    }
    scratch_.begins[lane_] = static_cast<std::uint16_t>(end - kmers);
    scratch_.ends[lane_] = static_cast<std::uint16_t>(end);
    __syncwarp();
    if (kmers > 0) atomicOr(&scratch_.begin_bits[(end - kmers) / 32], 1u << ((end - kmers) % 32));
    __syncwarp();
    return total;
  }

  __device__ Key hash_of(std::uint32_t word, std::uint32_t t) const {
    const Key forward = extract(scratch_.forward, word, 2u * (scratch_.ends[word] - 1 - t));
    if (!canonical_) return hash_(forward);
    const Key reverse = extract(scratch_.reverse, word, 2u * (t - scratch_.begins[word]));
    return hash_(forward < reverse ? forward : reverse);
  }

  /// Returns the bits of a word from `shift` on, as many as a k-mer has: SuperKmerReader's `extract`, from
  /// 32-bit pieces in shared memory.
  __device__ Key extract(const std::uint32_t (&words)[2 * Words][32], std::uint32_t word,
                         std::uint32_t shift) const {
    const std::uint32_t from = shift / 32;
    const auto piece = [&](std::uint32_t i) {
      // 64-bit keys are never so far behind that the last piece is missed.
      return sizeof(Key) == 8 || from + i < 2 * Words ? words[from + i][word] : 0;
    };
    const auto bits = [&](std::uint32_t low, std::uint32_t middle, std::uint32_t high) {
      return std::uint64_t{__funnelshift_r(low, middle, shift)} |
             std::uint64_t{__funnelshift_r(middle, high, shift)} << 32;
    };
    const std::uint32_t middle = piece(2);
    const std::uint64_t low = bits(piece(0), piece(1), middle);
    if constexpr (sizeof(Key) == 8) {
      return low & hash_.mask;
    } else {
      return ((Key{bits(middle, piece(3), piece(4))} << 64) | low) & hash_.mask;
    }
  }

  ExpandScratch<Words>& scratch_;
  KmerHash<Key> hash_;
  std::uint32_t k_;
  bool canonical_;
  std::uint32_t lane_;
};

}  // namespace warpmer::gpu
