#include "kernels/freeze/freeze.cuh"
#include "kernels/freeze/freeze_shapes.cuh"
#include "kmer/kmer.h"

namespace warpmer::gpu {

namespace {

/// With more ranges than this a block that counts takes more shared memory than a third of what a
/// multiprocessor has, so that two are at work there instead of three (measured: tables of 4,096 slots). What
/// that costs, where these ranges are used.
template <class Key>
constexpr std::uint32_t kCheapRanges = sizeof(Key) == 8 ? 384 : kMostRanges;
constexpr double kDearRanges = 0.15;

/// Returns the share of their room that parts are expected to use, when ranges have so many entries on
/// average.
template <class Shape>
double expected_use(double in_range) {
  if (!fits<Shape>(in_range)) return 0;
  double use = 0;
  for (double ranges = 1; (ranges - 1) * in_range < Shape::kCapacity; ++ranges) {
    const double mean = ranges * in_range, room = Shape::kCapacity + 0.5;
    // So many fit: a normal distribution stands for Poisson's.
    use += std::erfc((mean - room) / std::sqrt(2 * mean)) / 2 * in_range / Shape::kCapacity;
  }
  return use;
}

}  // namespace

template <class Key>
std::uint32_t ranges_for(double entries_per_shard) {
  // Many ranges to a part leave little room.
  if (entries_per_shard / kLeastRanges < SmallBlock<Key>::kCapacity / 8.0) return kLeastRanges;
  const bool is_small = fits<SmallBlock<Key>>(entries_per_shard / kMostRanges) || !has_large_blocks<Key>();
  const auto gain = [&](std::uint32_t ranges) {
    double use = 0;
    for (const double size : {0.97, 1.0, 1.03}) {  // shards differ
      const double in_range = entries_per_shard * size / ranges;
      use += is_small ? expected_use<SmallBlock<Key>>(in_range) : expected_use<LargeBlock<Key>>(in_range);
    }
    // Ranges cost where they are made: about so much.
    return use / (1 + ranges / 8192.0 + (ranges > kCheapRanges<Key> ? kDearRanges : 0));
  };
  constexpr double kWorthIt = 1.01;
  constexpr std::uint32_t kStep = 32;
  std::uint32_t best = kLeastRanges;
  double best_gain = gain(best);
  for (std::uint32_t ranges = kLeastRanges + kStep; ranges <= kMostRanges; ranges += kStep) {
    const double here = gain(ranges);
    if (here <= kWorthIt * best_gain) continue;
    best = ranges;
    best_gain = here;
  }
  // None fits: the smallest ones take the fewest parts.
  return best_gain > 0 ? best : kMostRanges;
}

template std::uint32_t ranges_for<Key64>(double);
template std::uint32_t ranges_for<Key128>(double);

}  // namespace warpmer::gpu
