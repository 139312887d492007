#pragma once
/// The shapes of the blocks that freeze shards.

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace warpmer::gpu {

/// The shape of a block: its threads without the warp that plans, the entries that each thread holds in
/// registers, and the blocks that are to share a multiprocessor. (Measured: too few registers cost more than
/// fewer blocks.)
template <std::uint32_t threads, std::uint32_t each, std::uint32_t blocks>
struct BlockShape {
  static constexpr std::uint32_t kThreads = threads;
  static constexpr std::uint32_t kBlocks = blocks;
  static constexpr std::uint32_t kWarps = threads / 32;
  static constexpr std::uint32_t kEach = each;
  static constexpr std::uint32_t kCapacity = threads * each;  ///< entries of a part
  static constexpr std::uint32_t kCapacityWords = kCapacity / 32;
  /// The buckets of the sort; they are more than the entries, so that most have one or none.
  static constexpr std::uint32_t kBuckets = 8 * threads;
};
template <class Key>
using SmallBlock = std::conditional_t<sizeof(Key) == 8, BlockShape<512, 3, 2>, BlockShape<256, 4, 3>>;
/// The shape for ranges with more entries than that.
template <class Key>
using LargeBlock = std::conditional_t<sizeof(Key) == 8, BlockShape<512, 6, 1>, BlockShape<512, 4, 1>>;

/// True when nearly all ranges fit, if they have so many entries on average. (Hashes are spread evenly, so
/// few ranges are much larger than the mean.)
template <class Shape>
bool fits(double in_range) {
  return in_range + 4 * std::sqrt(in_range) <= Shape::kCapacity;
}

/// True when the current device has the shared memory for large blocks.
template <class Key>
bool has_large_blocks();

}  // namespace warpmer::gpu
