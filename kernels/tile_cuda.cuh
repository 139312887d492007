#pragma once
/// The Tile concept (table/tile.h) on a GPU: a group of `Lanes` adjacent lanes looks at a bucket, each at
/// `SlotsPerLane` adjacent slots of it. Works on shared and on global memory. All lanes of a group call
/// together; what crosses the concept is the same on all of them.

#include "core/kmer.h"
#include "lane_group.cuh"
#include "table/tile.h"

namespace warpmer::gpu {

using table::Claim;
using table::Slot;
using table::SlotMask;
using table::Slots;

/// Compare and swap of a whole key: 64 bits anywhere, 128 bits from compute capability 9.0.
__device__ inline Key64 compare_and_swap(Key64* at, Key64 expected, Key64 desired) {
  return atomicCAS(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(expected),
                   static_cast<unsigned long long>(desired));
}
__device__ inline Key128 compare_and_swap(Key128* at, Key128 expected, Key128 desired) {
#if __CUDA_ARCH__ >= 900
  return atomicCAS(at, expected, desired);
#else
  // Never launched: make_cuda_backend refuses k > 32 on such devices.
  (void)at, (void)desired;
  __trap();
  return expected;
#endif
}

/// Puts a whole key in the place of another, and returns that.
__device__ inline Key64 exchange_keys(Key64* at, Key64 in) {
  return atomicExch(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(in));
}
__device__ inline Key128 exchange_keys(Key128* at, Key128 in) {
#if __CUDA_ARCH__ >= 900
  return atomicExch(at, in);
#else
  (void)at;
  __trap();  // as above
  return in;
#endif
}

/// Reads a key that others may be claiming, whole: never half of it.
__device__ inline Key64 load_key(const Key64* at) { return *const_cast<const volatile Key64*>(at); }
__device__ inline Key128 load_key(const Key128* at) {
  std::uint64_t low, high;
  asm volatile("{ .reg .b128 whole; ld.relaxed.gpu.b128 whole, [%2]; mov.b128 {%0, %1}, whole; }"
               : "=l"(low), "=l"(high)
               : "l"(at)
               : "memory");
  return (Key128{high} << 64) | low;
}
/// Two neighbours with one 16-byte access.
__device__ inline void load_pair(const Key64* at, Key64& first, Key64& second) {
  asm volatile("ld.volatile.v2.u64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(at) : "memory");
}

template <class KeyType, int Lanes, int SlotsPerLane>
struct CudaTile : LaneGroup<Lanes, SlotsPerLane> {
  using Key = KeyType;
  using Lane = LaneGroup<Lanes, SlotsPerLane>;
  using typename Lane::Group;
  /// Lane-local: the keys this lane looks at.
  struct Bucket {
    Key keys[SlotsPerLane];
  };
  static constexpr bool kExclusive = false;

  using Lane::Lane;

  __device__ Bucket load(Slots<Key> s) const {
    Bucket bucket;
    const Key* mine = s.keys + this->rank() * SlotsPerLane;
    if constexpr (sizeof(Key) == 8 && SlotsPerLane % 2 == 0) {
#pragma unroll
      for (int i = 0; i < SlotsPerLane; i += 2) load_pair(mine + i, bucket.keys[i], bucket.keys[i + 1]);
    } else {
#pragma unroll
      for (int i = 0; i < SlotsPerLane; ++i) bucket.keys[i] = load_key(mine + i);
    }
    return bucket;
  }
  __device__ SlotMask match(const Bucket& b, Key key) const {
    SlotMask mine = 0;
#pragma unroll
    for (int i = 0; i < SlotsPerLane; ++i) mine |= SlotMask{b.keys[i] == key} << i;
    return this->gather(mine);
  }
  __device__ SlotMask empty(const Bucket& b) const { return match(b, table::kEmptyKey<Key>); }

  __device__ std::uint32_t count(const Bucket& /*b*/, Slots<Key> s, int i) const {
    return *const_cast<const volatile std::uint32_t*>(s.counts + i);
  }

  __device__ Claim claim(Slots<Key> s, int i, Key key, Key over = table::kEmptyKey<Key>) const {
    Key found{};
    if (this->acts(i)) found = compare_and_swap(s.keys + i, over, key);
    int claim = found == over  ? static_cast<int>(Claim::won)
                : found == key ? static_cast<int>(Claim::same_key)
                               : static_cast<int>(Claim::lost);
    return static_cast<Claim>(this->from_lane_of(i, claim));
  }

  /// Not atomic as a pair: only for phases in which nobody reads counts.
  __device__ Slot<Key> exchange(Slots<Key> s, int i, Slot<Key> in) const {
    Slot<Key> out{};
    if (this->acts(i)) out = {exchange_keys(s.keys + i, in.key), atomicExch(s.counts + i, in.count)};
    return {this->from_lane_of(i, out.key), this->from_lane_of(i, out.count)};
  }
  __device__ Key exchange_key(Slots<Key> s, int i, Key in) const {
    Key out{};
    if (this->acts(i)) out = exchange_keys(s.keys + i, in);
    return this->from_lane_of(i, out);
  }

  __device__ std::uint32_t add(Slots<Key> s, int i, std::uint32_t n) const {
    std::uint32_t before = 0;
    if (this->acts(i)) before = atomicAdd(s.counts + i, n);
    return this->from_lane_of(i, before);
  }
  __device__ void store(Slots<Key> s, int i, std::uint32_t n) const {
    if (this->acts(i)) *const_cast<volatile std::uint32_t*>(s.counts + i) = n;
  }
};

}  // namespace warpmer::gpu
