#pragma once
/// A shard, or a piece of one, is put in order part by part. A part is some ranges of hashes, as many as fit.
/// One warp plans the next parts while the others work.

#include <cuda_pipeline.h>

#include <cstdint>

#include "kernels/freeze/freeze.cuh"
#include "kernels/memory/warp_scan.cuh"

namespace warpmer::gpu {

/// The ranges [first, end), whose entries are taken together. If there is none, range `first` has too many
/// entries. If `first` is the end of the piece, there are no more parts.
struct EntryPart {
  std::uint32_t first, end;
  std::uint32_t size;  ///< entries
  std::uint32_t
      buckets;  ///< number of the index's buckets from that of the part's first hash to that of its last
  bool begins_inside;  ///< true when the first of these begins before the part
};

/// A part, and the places of its entries.
template <class Shape>
struct LocatedPart {
  EntryPart part;
  std::uint32_t begin_bits[Shape::kCapacityWords];  ///< bit i is set when the i-th entry is its bin's first
  std::uint32_t begins_before[Shape::kCapacityWords];
  std::uint64_t bin_from[kMostBinsPerShard];  ///< for each bin with entries: its first number in the
                                              ///< arrays, less that in the part
};

/// Ranges and bins of a piece, in shared memory.
struct PieceRanges {
  std::uint32_t first, end;               ///< ranges
  std::uint32_t range_buckets;            ///< largest number of the index's buckets in a range
  std::uint32_t begins[kMostRanges + 1];  ///< number of the shard's entries before each range, modulo 2^32
  unsigned long long entries_before;      ///< number of the shard's entries before the piece
  EntryPart planned;                      ///< part behind those that have been located
  // The following have an element for each bin, as `bin_at` numbers them.
  std::uint64_t bin_begins[kMostBinsPerShard];   ///< numbers in the arrays
  std::uint32_t bin_offsets[kMostBinsPerShard];  ///< begins of the planned part, counted from there
  std::uint32_t bin_ends[kMostBinsPerShard];     ///< ends of the planned part; on their way

  [[nodiscard]] __device__ std::uint32_t size(std::uint32_t from, std::uint32_t to) const {
    return begins[to - first] - begins[from - first];
  }
};

/// Returns the bin in place i of `bins`, a power of two: each lane of a warp has some neighbours, lane by
/// lane.
__device__ inline std::uint32_t bin_at(std::uint32_t i, std::uint32_t bins) {
  return bins <= 32 ? i : i % 32 * (bins / 32) + i / 32;
}

/// Computes for each word the number of bits that are set in the words before it. Returns the number in all.
/// One warp does it.
__device__ inline std::uint32_t count_bits_before(const std::uint32_t* words, std::uint32_t n,
                                                  std::uint32_t* before) {
  std::uint32_t all = 0;
  for (std::uint32_t first = 0; first < n; first += 32) {
    const std::uint32_t w = first + threadIdx.x % 32;
    const std::uint32_t bits = w < n ? __popc(words[w]) : 0;
    const std::uint32_t sum = all + warp_inclusive_sum(bits);
    if (w < n) before[w] = sum - bits;
    all = __shfl_sync(~0u, sum, 31);
  }
  return all;
}

/// Plans the parts of the shard whose bins begin with `first_bin`. One warp calls all functions. The other
/// warps wait for it at barriers, and it takes one step between two of these: parts are planned, then
/// located, then completed.
template <class Key, class Shape>
class PartPlanner {
 public:
  __device__ PartPlanner(const FreezeTask<Key>& task, const ShardPlan& plan, std::uint32_t first_bin,
                         PieceRanges& piece)
      : task_(task), plan_(plan), first_bin_(first_bin), piece_(piece), lane_(threadIdx.x % 32) {}

  /// Plans the piece's first part.
  __device__ void begin() const { plan_from(piece_.first); }

  /// Finds the places of each bin's entries of the planned part.
  __device__ void locate(LocatedPart<Shape>& located) const {
    __pipeline_wait_prior(0);
    const EntryPart& part = piece_.planned;
    if (lane_ == 0) located.part = part;
    __syncwarp();
    if (part.first == piece_.end) return;
    for (std::uint32_t w = lane_; w < Shape::kCapacityWords; w += 32) located.begin_bits[w] = 0;
    __syncwarp();
    // The low half counts entries, the high half bins that have some. Ranges that are too large are handled
    // elsewhere.
    const bool any = part.end > part.first;
    const auto size = [&](std::uint32_t i) {
      const std::uint32_t n = any ? piece_.bin_ends[i] - piece_.bin_offsets[i] : 0;
      return n > 0 ? n | 1u << 16 : 0;
    };
    std::uint32_t sum = 0;
    for_bins([&](std::uint32_t i) { sum += size(i); });
    std::uint32_t before = warp_inclusive_sum(sum) - sum;
    for_bins([&](std::uint32_t i) {
      const std::uint32_t both = size(i), at = before & 0xFFFF;
      if (both > 0) {
        located.bin_from[before >> 16] = piece_.bin_begins[i] + piece_.bin_offsets[i] - at;
        atomicOr(&located.begin_bits[at / 32], 1u << (at % 32));
      }
      piece_.bin_offsets[i] = piece_.bin_ends[i];
      before += both;
    });
    __syncwarp();
  }

  /// Completes the part that has been located, and plans the next one.
  __device__ void complete(LocatedPart<Shape>& located) const {
    const EntryPart& part = located.part;
    if (part.first == piece_.end) return;
    count_bits_before(located.begin_bits, Shape::kCapacityWords, located.begins_before);
    plan_from(max(part.end, part.first + 1));
  }

 private:
  /// Calls `with(i)` for the places of a lane's bins.
  template <class With>
  __device__ void for_bins(With&& with) const {
#pragma unroll 4
    for (std::uint32_t i = lane_; i < task_.bins_per_shard; i += 32) with(i);
  }

  /// Chooses the part from a range on, and starts to fetch the ends of its bins.
  __device__ void plan_from(std::uint32_t range) const {
    EntryPart part = choose(range);
    find_buckets(part);
    if (lane_ == 0) piece_.planned = part;
    if (range < piece_.end) {
      const std::uint32_t end = max(part.end, range + 1);
      for_bins([&](std::uint32_t i) {
        const std::uint32_t bin = first_bin_ + bin_at(i, task_.bins_per_shard);
        __pipeline_memcpy_async(piece_.bin_ends + i, task_.counted.ranges_of(bin) + end,
                                sizeof(std::uint32_t));
      });
    }
    __pipeline_commit();
    __syncwarp();
  }

  /// Returns the part from this range on, with as many ranges as fit, and at most kBuckets buckets of the
  /// index.
  [[nodiscard]] __device__ EntryPart choose(std::uint32_t range) const {
    std::uint32_t end = range, more = 0;
    do {
      const std::uint32_t next = end + lane_;
      const bool fits = next < piece_.end && piece_.size(range, next + 1) <= Shape::kCapacity &&
                        std::uint64_t{next + 1 - range} * piece_.range_buckets + 3 <= Shape::kBuckets;
      const std::uint32_t not_fitting = ~__ballot_sync(~0u, fits);
      more = not_fitting == 0 ? 32 : __ffs(static_cast<int>(not_fitting)) - 1;
      end += more;
    } while (more == 32);
    return {range, end, piece_.size(range, end), 1, false};
  }

  __device__ void find_buckets(EntryPart& part) const {
    if (plan_.shape.bucket_bits == 0 || part.end == part.first) return;
    const std::uint32_t rest_bits = plan_.layout.rest_bits, ranges = task_.counted.range_count;
    const Key first = range_begin<Key>(part.first, task_.k, ranges);
    const Key last = range_begin<Key>(part.end, task_.k, ranges) - 1;
    part.buckets = static_cast<std::uint32_t>((last >> rest_bits) - (first >> rest_bits)) + 1;
    part.begins_inside = (first >> rest_bits) << rest_bits != first;
  }

  const FreezeTask<Key>& task_;
  const ShardPlan& plan_;
  std::uint32_t first_bin_;
  PieceRanges& piece_;
  std::uint32_t lane_;
};

}  // namespace warpmer::gpu
