#pragma once
/// Super-k-mers of a range of bins on the device, split by bin: the result of one split, or the parts of
/// that range that several devices have split.

#include <cstdint>
#include <vector>

#include "kernels/memory/device_memory.cuh"
#include "kmer/super_kmer.h"

namespace warpmer::gpu {

/// A part of a segment, as kernels see it: the words of a bin begin with number offsets[bin], and end where
/// those of the next bin begin. Bins keep their numbers, whatever the segment's first bin is.
template <int Words>
struct SegmentView {
  const SuperKmer<Words>* words;
  const std::uint32_t* offsets;
};

template <int Words>
struct Segment {
  /// The result of one split for the range.
  struct SplitPart {
    std::uint64_t first_word = 0;  ///< number of the part's first word in `words`
    std::uint32_t base = 0;  ///< first of its offsets: number of words that the split had before the range
  };

  std::uint32_t first_bin = 0, bins = 0;
  DeviceArray<SuperKmer<Words>> words;
  DeviceArray<std::uint32_t> offsets;  ///< bins + 1 numbers for each part
  DeviceArray<std::uint32_t> kmers;    ///< one number for each bin of each part
  std::vector<SplitPart> parts;

  Segment() = default;
  /// Allocates room on the current device for `word_count` words of so many bins in so many parts.
  Segment(std::uint64_t word_count, std::uint32_t first, std::uint32_t bin_count, std::uint32_t part_count)
      : first_bin(first),
        bins(bin_count),
        words(word_count),
        offsets(std::size_t{part_count} * (bin_count + 1)),
        kmers(std::size_t{part_count} * bin_count),
        parts(part_count) {}

  /// Returns the device memory that a segment takes.
  static constexpr std::uint64_t bytes_for(std::uint64_t words, std::uint32_t bins, std::uint32_t parts) {
    return words * sizeof(SuperKmer<Words>) +
           std::uint64_t{parts} * (2 * std::uint64_t{bins} + 1) * sizeof(std::uint32_t);
  }
  [[nodiscard]] std::uint64_t bytes() const { return words.bytes() + offsets.bytes() + kmers.bytes(); }

  /// Returns a part as kernels see it. (Only the segment's own bins may be looked at.)
  [[nodiscard]] SegmentView<Words> view(std::size_t part) const {
    return {words.data() + parts[part].first_word - parts[part].base,
            offsets.data() + part * (bins + 1) - first_bin};
  }
};

}  // namespace warpmer::gpu
