#pragma once
/// The words of a segment that come in slices, while those that are there are counted: with each slice the
/// same share of every part. Parts are in order of lists, so that the first slices have the words of the
/// first shards.

#include <cstdint>
#include <vector>

#include "kernels/count/segment.cuh"
#include "kmer/platform.h"

namespace warpmer::gpu {

/// So many that what is waited for before the first shards is little, and few enough for each to be worth
/// sending.
inline constexpr std::uint32_t kSlices = 8;

/// Of a part of so many words, those that slice `slice` begins with; `kSlices` is the end of the last one.
WARPMER_HD constexpr std::uint64_t slice_begin(std::uint64_t words, std::uint32_t slice) {
  return words * slice / kSlices;
}

/// How many slices of a segment have to be there for the words of a shard, and of all before it, to be there:
/// for each shard of its lists. What the segment has beside words is there. Waits for the stream.
template <int Words>
std::vector<std::uint32_t> slices_wanted(const Segment<Words>& segment, std::uint32_t lists_per_shard,
                                         cudaStream_t stream);

}  // namespace warpmer::gpu
