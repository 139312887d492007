#pragma once
/// The tables that a large set of queries is looked up in: which scheme, how wide its buckets, how full, and
/// how it is filled with entries of which each comes once. Built, then asked; written once for CPU and GPU.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "table/cuckoo.h"
#include "table/iceberg.h"
#include "table/insertion.h"
#include "table/tile.h"

namespace warpmer::table {

/// Bytes of the keys of a bucket. With 128, as many as Awad et al. 2023 (section 7.1.1) have in theirs of 16
/// slots, an H200 looks up 14.7 G k-mers/s that are there and 12.9 that are not; with 64, 15.9 and 16.6.
inline constexpr int kBchtBucketBytes = 64;

/// Bucketed cuckoo hashing with three hash functions. Buckets have 8 slots when keys have 64 bits, and 4 when
/// they have 128.
template <class Key>
struct BchtLookup {
  static constexpr int kBucket = kBchtBucketBytes / static_cast<int>(sizeof(Key));
  static constexpr double kLoad = 0.9;
  template <Tile T>
  using Scheme = Cuckoo<T, 3>;

  /// Number of passes over all entries, with a barrier between, that tiles of this kind need. Where tiles
  /// share the table, counts cannot move with their keys: keys come first, counts later.
  template <Tile T>
  static constexpr int kPasses = T::kExclusive ? 1 : 2;

  /// Brings one entry, in one pass of those. False: some key has no place, and the build has failed.
  template <int kPass, Tile T>
  WARPMER_HD static bool fill(const Scheme<T>& scheme, const T& tile, Slot<Key> entry) {
    if constexpr (kPass == 1) {
      return scheme.add(tile, entry.key, entry.count).placed;
    } else if constexpr (T::kExclusive) {
      return scheme.insert_distinct(tile, entry.key, entry.count).insertion.placed;
    } else {
      return scheme.place_distinct(tile, entry.key).insertion.placed;
    }
  }
};

/// Iceberg hashing with buckets of 32 slots, which the paper fills up to 0.91 (Awad et al. 2023, Table 1),
/// and a threshold of 80 % (section 7.1.2).
template <class Key>
struct IcebergLookup {
  static constexpr int kBucket = 32;
  static constexpr double kLoad = 0.9;
  template <Tile T>
  using Scheme = Iceberg<T, 80>;

  /// Keys keep their places, so that they come with their counts.
  template <Tile T>
  static constexpr int kPasses = 1;

  template <int kPass, Tile T>
  WARPMER_HD static bool fill(const Scheme<T>& scheme, const T& tile, Slot<Key> entry) {
    return scheme.insert(tile, entry.key, entry.count).placed;
  }
};

/// Says how a build goes about it. Tests make it fail.
struct LookupTablePlan {
  double load = 0;               ///< entries by slots, the stash not counted; 0: the scheme's own
  std::uint32_t first_seed = 1;  ///< further builds take those that follow
  std::uint32_t attempts = 8;
  std::uint32_t discarded = 0;  ///< good builds that are taken for failed: for tests
};

/// Returns the number of buckets for so many entries. With the bits that a bucket's number has, 2^32 - 1 are
/// the most.
template <class Lookup>
inline std::uint32_t lookup_buckets(std::uint64_t entries, const LookupTablePlan& plan) {
  const double slots = static_cast<double>(entries) / (plan.load > 0 ? plan.load : Lookup::kLoad);
  return static_cast<std::uint32_t>(std::clamp(std::ceil(slots / Lookup::kBucket), 1.0, 4294967295.0));
}

/// Returns the bytes of the slots for so many entries, the stash included.
template <class Lookup, class Key>
inline std::uint64_t lookup_slot_bytes(std::uint64_t entries, const LookupTablePlan& plan) {
  const std::uint64_t buckets = lookup_buckets<Lookup>(entries, plan);
  return (buckets * Lookup::kBucket + kStashSlots) * Slots<Key>::kBytes;
}

}  // namespace warpmer::table
