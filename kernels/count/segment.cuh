#pragma once
/// Super-k-mers of a range of lists on the device, split by list: the result of one split, or the parts of
/// that range that several devices have split.

#include <cstdint>
#include <vector>

#include "kernels/memory/device_memory.cuh"
#include "kmer/super_kmer.h"

namespace warpmer::gpu {

/// A part of a segment, as kernels see it: the words of a list begin with number offsets[list], and end where
/// those of the next list begin. Lists keep their numbers, whatever the segment's first list is.
template <int Words>
struct SegmentView {
  const SuperKmer<Words>* words;
  const std::uint32_t* offsets;
};

template <int Words>
struct Segment {
  /// The result of one split for the range.
  struct Part {
    std::uint64_t first_word = 0;  ///< number of the part's first word in `words`
    std::uint32_t base = 0;  ///< first of its offsets: number of words that the split had before the range
  };

  std::uint32_t first_list = 0, lists = 0;
  DeviceArray<SuperKmer<Words>> words;
  DeviceArray<std::uint32_t> offsets;  ///< lists + 1 numbers for each part
  DeviceArray<std::uint32_t> kmers;    ///< one number for each list of each part
  std::vector<Part> parts;

  Segment() = default;
  /// Allocates room on the current device for `word_count` words of so many lists in so many parts.
  Segment(std::uint64_t word_count, std::uint32_t first, std::uint32_t list_count, std::uint32_t part_count)
      : first_list(first),
        lists(list_count),
        words(word_count),
        offsets(std::size_t{part_count} * (list_count + 1)),
        kmers(std::size_t{part_count} * list_count),
        parts(part_count) {}

  /// Returns the device memory that a segment takes.
  static constexpr std::uint64_t bytes_for(std::uint64_t words, std::uint32_t lists, std::uint32_t parts) {
    return words * sizeof(SuperKmer<Words>) +
           std::uint64_t{parts} * (2 * std::uint64_t{lists} + 1) * sizeof(std::uint32_t);
  }
  [[nodiscard]] std::uint64_t bytes() const { return words.bytes() + offsets.bytes() + kmers.bytes(); }

  /// Returns a part as kernels see it. (Only the segment's own lists may be looked at.)
  [[nodiscard]] SegmentView<Words> view(std::size_t part) const {
    return {words.data() + parts[part].first_word - parts[part].base,
            offsets.data() + part * (lists + 1) - first_list};
  }
};

}  // namespace warpmer::gpu
