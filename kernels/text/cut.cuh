#pragma once
/// The cut of text into super-k-mers: the input and the results of the kernel.

#include <cuda_runtime.h>

#include <cstdint>

#include "kmer/super_kmer.h"

namespace warpmer::gpu {

/// The number of starts of k-mers that one block cuts. Text is handed over in arrays of the size that
/// `text_room` gives; the contents behind the text do not matter.
inline constexpr std::uint32_t kTileStarts = 2048;
constexpr std::size_t text_room(std::size_t bytes) {
  return (bytes + kTileStarts - 1) / kTileStarts * kTileStarts + 128;
}
constexpr std::uint32_t tiles_of(std::uint32_t bytes) { return (bytes + kTileStarts - 1) / kTileStarts; }

struct DeviceCutParams {
  std::uint32_t k;
  std::uint32_t m;         ///< length of the minimizer
  std::uint32_t bin_bits;  ///< 2^bin_bits bins: the shard, and more bits of a group's id
  bool canonical;
};

/// The place of a word: its bin, and the number of words of this bin that came before it since the last
/// split.
struct WordPlace {
  std::uint32_t bin;
  std::uint32_t rank;
};

/// The bin of a place that was taken but not used: there is no word.
inline constexpr std::uint32_t kNoBin = UINT32_MAX;

/// Words as they come out of the cut, with the data for splitting them by bin. Each of kRegions equal ranges
/// of bins has its region, in which its words stand in any order: splitting a region writes to a part of
/// memory that fits the L2. (Measured: writing to all bins at once is bound by random access.)
inline constexpr std::uint32_t kRegionBits = 5;
inline constexpr std::uint32_t kRegions = 1u << kRegionBits;
template <int Words>
struct Staging {
  SuperKmer<Words>* words;
  WordPlace* places;
  std::uint32_t region_capacity;  ///< at least kTileStarts, which a tile may need
  std::uint32_t* sizes;           ///< sizes of the regions; beyond their capacity if more was asked for
  /// For each bin, the number of words in the low half and of their k-mers in the high half.
  unsigned long long* bins;

  [[nodiscard]] std::uint32_t capacity() const { return kRegions * region_capacity; }
};

/// The result of cutting a batch.
struct CutStatus {
  unsigned long long kmers;
  std::uint32_t first_invalid;  ///< offset of the first character that is no nucleotide code; or UINT32_MAX
  std::uint32_t tiles_left;     ///< number of tiles not cut because staging was full: `left` names them
  std::uint32_t fullest;        ///< number of words in the fullest region of staging afterwards
};

/// Enqueues the cut of `bytes` characters into staging. `tiles` (null: all) and `left` are arrays of
/// tile numbers on the device; `status`, on the device, is set up by `reset_status`.
template <int Words>
void launch_cut(const char* text, std::uint32_t bytes, const DeviceCutParams& params,
                const Staging<Words>& staging, const std::uint32_t* tiles, std::uint32_t tile_count,
                std::uint32_t* left, CutStatus* status, cudaStream_t stream);

/// Enqueues the initial value of a status.
void reset_status(CutStatus* status, cudaStream_t stream);

}  // namespace warpmer::gpu
