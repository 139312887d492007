#pragma once
/// Parts of a bin, for tables that do not hold all of it; and what a table's 32-bit counts do not hold.

#include <cstdint>

#include "kernels/count/count.cuh"
#include "kmer/kmer.h"
#include "table/tile.h"

namespace warpmer::gpu {

/// A part of a bin: its hashes in [low, low + 2^width).
template <class Key>
struct HashRange {
  Key low;
  std::uint32_t width;

  [[nodiscard]] __device__ bool contains(Key hash) const {
    return width >= kKeyBits<Key> || ((hash ^ low) >> width) == 0;
  }
  /// Returns a hash of the part without the bits that all its hashes share.
  [[nodiscard]] __device__ Key relative(Key hash) const {
    return width >= kKeyBits<Key> ? hash : hash & ((Key{1} << width) - 1);
  }
};

/// Goes through a bin's parts in order of hashes. Parts that do not fit a table are halved; where tables are
/// nearly empty again, parts grow, up to 2^widest hashes, which is fewer than all.
template <class Key>
class PartWalk {
 public:
  __host__ __device__ PartWalk(std::uint32_t k, std::uint32_t widest)
      : k_(k), widest_(widest), part_{0, widest} {}

  [[nodiscard]] __host__ __device__ const HashRange<Key>& part() const { return part_; }
  /// A part of one hash always fits.
  __host__ __device__ void halve() { --part_.width; }
  /// Goes on to the next part; returns false if there is none.
  __host__ __device__ bool go_on(bool is_nearly_empty) {
    part_.low += Key{1} << part_.width;
    if ((part_.low & key_mask<Key>(k_)) == 0) return false;
    if (is_nearly_empty && part_.width < widest_ && ((part_.low >> part_.width) & 1) == 0) ++part_.width;
    return true;
  }

 private:
  std::uint32_t k_, widest_;
  HashRange<Key> part_;
};

/// Counts that the table of a part does not hold: that of the hash that marks empty slots, and of others
/// their part beyond 32 bits. They are in memory that all who insert share. Hashes are relative.
template <class Key, std::uint32_t kMostCarries>
struct CountsBeside {
  unsigned long long empty_key_count;
  std::uint32_t carries;
  Key carry_keys[kMostCarries];
  std::uint64_t carry_counts[kMostCarries];

  __device__ void add_empty_key(std::uint64_t count) {
    atomicAdd(&empty_key_count, static_cast<unsigned long long>(count));
  }
  /// Notes the part of a count that 32 bits cannot hold.
  __device__ void carry(Key hash, std::uint64_t count, CountFault* fault) {
    if (hash == table::kEmptyKey<Key>) return add_empty_key(count);
    const std::uint32_t at = atomicAdd(&carries, 1u);
    if (at < kMostCarries) {
      carry_keys[at] = hash;
      carry_counts[at] = count;
    } else {
      *fault = CountFault::too_many_large_counts;
    }
  }
  /// Returns the noted parts of a hash's count.
  [[nodiscard]] __device__ std::uint64_t carried(Key hash) const {
    std::uint64_t sum = 0;
    const std::uint32_t n = min(carries, kMostCarries);
    for (std::uint32_t i = 0; i < n; ++i) {
      if (carry_keys[i] == hash) sum += carry_counts[i];
    }
    return sum;
  }
  [[nodiscard]] __device__ bool is_empty() const { return carries == 0 && empty_key_count == 0; }
};

}  // namespace warpmer::gpu
