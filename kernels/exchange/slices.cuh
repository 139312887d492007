#pragma once
/// The words of a segment may come in slices, while those that are there are counted. Each slice has the same
/// share of every part. Parts are in order of bins, so that the first slices have the words of the first
/// shards.

#include <cstdint>
#include <vector>

#include "kernels/count/segment.cuh"
#include "kmer/platform.h"

namespace warpmer::gpu {

/// The number of slices. It is so large that little is waited for before the first shards, and so small that
/// each slice is worth sending.
inline constexpr std::uint32_t kSlices = 8;

/// Returns the number of the first word of slice `slice`, of a part of `words` words; `kSlices` gives the end
/// of the last slice.
WARPMER_HD constexpr std::uint64_t slice_begin(std::uint64_t words, std::uint32_t slice) {
  return words * slice / kSlices;
}

/// Returns, for each shard of a segment's bins, the number of slices that have to be there for the words of
/// the shard and of all before it to be there. All of the segment but the words is there. Waits for the
/// stream.
template <int Words>
std::vector<std::uint32_t> slices_wanted(const Segment<Words>& segment, std::uint32_t bins_per_shard,
                                         cudaStream_t stream);

}  // namespace warpmer::gpu
