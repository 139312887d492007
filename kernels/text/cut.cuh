#pragma once
/// Cutting text into super-k-mers: what the kernel takes and leaves behind.

#include <cuda_runtime.h>

#include <cstdint>

#include "kmer/super_kmer.h"

namespace warpmer::gpu {

/// Starts of k-mers that one block cuts. Text is handed over in arrays with this much room after the end,
/// rounded up; what stands there does not matter.
inline constexpr std::uint32_t kTileStarts = 2048;
constexpr std::size_t text_room(std::size_t bytes) {
  return (bytes + kTileStarts - 1) / kTileStarts * kTileStarts + 128;
}
constexpr std::uint32_t tiles_of(std::uint32_t bytes) { return (bytes + kTileStarts - 1) / kTileStarts; }

struct CutParams {
  std::uint32_t k;
  std::uint32_t m;          ///< length of the minimizer
  std::uint32_t list_bits;  ///< 2^list_bits lists: the shard, and more bits of the same hash
};

/// Where a word belongs: which list, and how many of this list came before it since the last split.
struct Place {
  std::uint32_t list;
  std::uint32_t rank;
};

/// A place that was taken but not used: there is no word.
inline constexpr std::uint32_t kNoList = UINT32_MAX;

/// Words as they come out of the cut, with what it takes to split them by list. Each of kRegions equal
/// ranges of lists has its part, where its words stand in any order: splitting them writes to a part of
/// memory that fits the L2. (Writing to all lists at once is bound by random access: measured.)
inline constexpr std::uint32_t kRegionBits = 5;
inline constexpr std::uint32_t kRegions = 1u << kRegionBits;
template <int Words>
struct Staging {
  SuperKmer<Words>* words;
  Place* places;
  std::uint32_t region_capacity;  ///< at least kTileStarts: what a tile may need
  std::uint32_t* sizes;           ///< of the regions; beyond their capacity where more was asked for
  /// For each list, words in the low half and their k-mers in the high half.
  unsigned long long* lists;

  [[nodiscard]] std::uint32_t capacity() const { return kRegions * region_capacity; }
};

/// What became of a batch.
struct CutStatus {
  unsigned long long kmers;
  std::uint32_t first_invalid;  ///< offset of the first character that is no nucleotide code; or UINT32_MAX
  std::uint32_t tiles_left;     ///< tiles not cut because staging was full: `left` names them
  std::uint32_t fullest;        ///< words in the fullest region of staging afterwards
};

/// Enqueues the cut of `bytes` characters into staging. `tiles` (null: all) and `left` are arrays of
/// tile numbers on the device; `status`, on the device, is set up by `reset_status`.
template <int Words>
void launch_cut(const char* text, std::uint32_t bytes, const CutParams& params, const Staging<Words>& staging,
                const std::uint32_t* tiles, std::uint32_t tile_count, std::uint32_t* left, CutStatus* status,
                cudaStream_t stream);

/// Enqueues the initial value of a status.
void reset_status(CutStatus* status, cudaStream_t stream);

}  // namespace warpmer::gpu
