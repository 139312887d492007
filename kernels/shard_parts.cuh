#pragma once
/// What of a shard, or a piece of one, is put in order at once: a part, some ranges of hashes, as many as
/// fit. One warp plans the next parts while the others are at work.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "freeze.cuh"
#include "warp_scan.cuh"

namespace warpmer::gpu {

/// Ranges from `first` to the one before `end`, whose entries are taken together. None: range `first` has
/// too many. `first` the piece's end: there is no more.
struct Part {
  std::uint32_t first, end;
  std::uint32_t size;     ///< entries
  std::uint32_t buckets;  ///< of the index, from the one that has the part's first hash to that of its last
  bool begins_inside;     ///< the first of these, which begins before the part
};

/// And where they are.
template <class Shape>
struct LocatedPart {
  Part part;
  std::uint32_t begin_bits[Shape::kCapacityWords];  ///< bit i: the i-th entry is its list's first
  std::uint32_t begins_before[Shape::kCapacityWords];
  std::uint64_t
      list_from[kMostListsPerShard];  ///< of lists with entries: number in the arrays, less that here
};

/// Ranges and lists of a piece, in shared memory.
struct PieceRanges {
  std::uint32_t first, end;                        ///< ranges
  std::uint32_t begins[kMostRanges + 1];           ///< entries of the shard before each, modulo 2^32
  unsigned long long entries_before;               ///< the piece
  std::uint64_t list_begins[kMostListsPerShard];   ///< numbers in the arrays
  std::uint32_t list_offsets[kMostListsPerShard];  ///< from there: what has been planned ends here

  [[nodiscard]] __device__ std::uint32_t size(std::uint32_t from, std::uint32_t to) const {
    return begins[to - first] - begins[from - first];
  }
};

/// For each word, the bits in those before. Returns the bits in all. By one warp.
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

/// Of the shard whose lists begin with `first_list`. All functions by one warp.
template <class Key, class Shape>
class PartPlanner {
 public:
  __device__ PartPlanner(const FreezeTask<Key>& task, const ShardPlan& plan, std::uint32_t first_list,
                         PieceRanges& piece)
      : task_(task), plan_(plan), first_list_(first_list), piece_(piece), lane_(threadIdx.x % 32) {}

  /// The part from `range` on, which is moved behind it.
  __device__ void plan_next(LocatedPart<Shape>& located, std::uint32_t& range) const {
    Part part = plan_part(range);
    const std::uint32_t end = min(max(part.end, range + 1), piece_.end);
    if (part.end > part.first) {
      locate(part, located);
      find_buckets(part);
    } else if (end > range) {
      skip_to(end);
    }
    if (lane_ == 0) located.part = part;
    range = end;
  }

 private:
  /// From this range on, as many as fit, with at most kBuckets buckets of the index.
  [[nodiscard]] __device__ Part plan_part(std::uint32_t range) const {
    const std::uint32_t bucket_bits = plan_.shape.bucket_bits;
    // At most in a range, whose ends are rounded to grains; and parts have a share in those at their ends.
    const std::uint32_t range_buckets =
        static_cast<std::uint32_t>((std::uint64_t{1} << bucket_bits) / task_.counted.range_count) + 1 +
        (bucket_bits > kRangeGrainBits ? 1u << (bucket_bits - kRangeGrainBits) : 0);
    std::uint32_t end = range, more = 0;
    do {
      const std::uint32_t next = end + lane_;
      const bool fits = next < piece_.end && piece_.size(range, next + 1) <= Shape::kCapacity &&
                        std::uint64_t{next + 1 - range} * range_buckets + 3 <= Shape::kBuckets;
      const std::uint32_t not_fitting = ~__ballot_sync(~0u, fits);
      more = not_fitting == 0 ? 32 : __ffs(static_cast<int>(not_fitting)) - 1;
      end += more;
    } while (more == 32);
    return {range, end, piece_.size(range, end), 1, false};
  }

  /// Finds where each list's entries of a part are.
  __device__ void locate(const Part& part, LocatedPart<Shape>& located) const {
    for (std::uint32_t w = lane_; w < Shape::kCapacityWords; w += 32) located.begin_bits[w] = 0;
    __syncwarp();
    constexpr std::uint32_t kEach = 4;  // lists of a lane whose offsets are on their way together
    std::uint32_t before = 0;           // entries; in the high half, lists that have some
    for (std::uint32_t first = 0; first < task_.lists_per_shard; first += 32 * kEach) {
      std::uint32_t ends[kEach];
#pragma unroll
      for (std::uint32_t e = 0; e < kEach; ++e) ends[e] = offset(first + 32 * e + lane_, part.end);
#pragma unroll
      for (std::uint32_t e = 0; e < kEach; ++e) {
        const std::uint32_t list = first + 32 * e + lane_;
        if (first + 32 * e >= task_.lists_per_shard) break;
        const bool there = list < task_.lists_per_shard;
        const std::uint32_t begin = there ? piece_.list_offsets[list] : 0, n = there ? ends[e] - begin : 0;
        const std::uint32_t both = n > 0 ? n | 1u << 16 : 0;
        const std::uint32_t sum = before + warp_inclusive_sum(both);
        if (n > 0) {
          const std::uint32_t at = (sum - both) & 0xFFFF;
          located.list_from[(sum - both) >> 16] = piece_.list_begins[list] + begin - at;
          atomicOr(&located.begin_bits[at / 32], 1u << (at % 32));
          piece_.list_offsets[list] = ends[e];
        }
        before = __shfl_sync(~0u, sum, 31);
      }
    }
    __syncwarp();
    count_bits_before(located.begin_bits, Shape::kCapacityWords, located.begins_before);
  }

  /// Leaves out what somebody else takes.
  __device__ void skip_to(std::uint32_t range) const {
    for (std::uint32_t list = lane_; list < task_.lists_per_shard; list += 32)
      piece_.list_offsets[list] = offset(list, range);
    __syncwarp();
  }

  [[nodiscard]] __device__ std::uint32_t offset(std::uint32_t list, std::uint32_t range) const {
    return list < task_.lists_per_shard ? task_.counted.ranges_of(first_list_ + list)[range] : 0;
  }

  __device__ void find_buckets(Part& part) const {
    if (plan_.shape.bucket_bits == 0) return;
    const std::uint32_t rest_bits = plan_.layout.rest_bits, ranges = task_.counted.range_count;
    const Key first = range_begin<Key>(part.first, task_.k, ranges);
    const Key last = range_begin<Key>(part.end, task_.k, ranges) - 1;
    part.buckets = static_cast<std::uint32_t>((last >> rest_bits) - (first >> rest_bits)) + 1;
    part.begins_inside = (first >> rest_bits) << rest_bits != first;
  }

  const FreezeTask<Key>& task_;
  const ShardPlan& plan_;
  std::uint32_t first_list_;
  PieceRanges& piece_;
  std::uint32_t lane_;
};

}  // namespace warpmer::gpu
