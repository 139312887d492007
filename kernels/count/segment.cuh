#pragma once
/// Super-k-mers of a range of lists on the device, split by list: what one split left, or the parts of that
/// range that several devices had split.

#include <cstdint>
#include <vector>

#include "kernels/memory/device_memory.cuh"
#include "kmer/super_kmer.h"

namespace warpmer::gpu {

/// A part of a segment, as kernels see it: the words of a list begin with number offsets[list], and end where
/// those of the next list begin. Lists have their numbers, whichever the segment's first one is.
template <int Words>
struct SegmentView {
  const SuperKmer<Words>* words;
  const std::uint32_t* offsets;
};

template <int Words>
struct Segment {
  /// What one split left of the range.
  struct Part {
    std::uint64_t first_word = 0;  ///< of the part in `words`
    std::uint32_t base = 0;        ///< what its offsets begin with: words that the split had before the range
  };

  std::uint32_t first_list = 0, lists = 0;
  DeviceArray<SuperKmer<Words>> words;
  DeviceArray<std::uint32_t> offsets;  ///< lists + 1 for each part
  DeviceArray<std::uint32_t> kmers;    ///< of each list, for each part
  std::vector<Part> parts;

  Segment() = default;
  /// Room for `word_count` words of so many lists in so many parts, on the current device.
  Segment(std::uint64_t word_count, std::uint32_t first, std::uint32_t list_count, std::uint32_t part_count)
      : first_list(first),
        lists(list_count),
        words(word_count),
        offsets(std::size_t{part_count} * (list_count + 1)),
        kmers(std::size_t{part_count} * list_count),
        parts(part_count) {}

  /// Device memory that takes.
  static constexpr std::uint64_t bytes_for(std::uint64_t words, std::uint32_t lists, std::uint32_t parts) {
    return words * sizeof(SuperKmer<Words>) +
           std::uint64_t{parts} * (2 * std::uint64_t{lists} + 1) * sizeof(std::uint32_t);
  }
  [[nodiscard]] std::uint64_t bytes() const { return words.bytes() + offsets.bytes() + kmers.bytes(); }

  /// A part as kernels see it. (The arrays of other lists than the segment's are not there to be looked at.)
  [[nodiscard]] SegmentView<Words> view(std::size_t part) const {
    return {words.data() + parts[part].first_word - parts[part].base,
            offsets.data() + part * (lists + 1) - first_list};
  }
};

}  // namespace warpmer::gpu
