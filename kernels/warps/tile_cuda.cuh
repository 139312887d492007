#pragma once
/// The Tile concept (table/tile.h) on a GPU: a group of `Lanes` adjacent lanes looks at a bucket, each at
/// `SlotsPerLane` adjacent slots of it. It works on shared and on global memory. All lanes of a group call
/// together; arguments and results of the concept's functions are the same on all of them.

#include <type_traits>

#include "kernels/warps/lane_group.cuh"
#include "kmer/kmer.h"
#include "table/tile.h"

namespace warpmer::gpu {

using table::Claim;
using table::Slot;
using table::SlotMask;
using table::Slots;

/// Compares and swaps a whole key: 32 and 64 bits on any GPU, 128 bits from compute capability 9.0.
__device__ inline table::PlainWord compare_and_swap(table::PlainWord* at, table::PlainWord expected,
                                                    table::PlainWord desired) {
  return atomicCAS(at, expected, desired);
}
__device__ inline Key64 compare_and_swap(Key64* at, Key64 expected, Key64 desired) {
  return atomicCAS(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(expected),
                   static_cast<unsigned long long>(desired));
}
__device__ inline Key128 compare_and_swap(Key128* at, Key128 expected, Key128 desired) {
#if __CUDA_ARCH__ >= 900
  return atomicCAS(at, expected, desired);
#else
  // Never launched: check_key_width refuses k > 32 where this is the code that runs.
  (void)at, (void)desired;
  __trap();
  return expected;
#endif
}

/// Puts a whole key in the place of another, and returns that.
__device__ inline table::PlainWord exchange_keys(table::PlainWord* at, table::PlainWord in) {
  return atomicExch(at, in);
}
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

/// Reads a whole key that others may be claiming, never half of the old and half of the new one.
__device__ inline table::PlainWord load_key(const table::PlainWord* at) {
  return *const_cast<const volatile table::PlainWord*>(at);
}
__device__ inline Key64 load_key(const Key64* at) { return *const_cast<const volatile Key64*>(at); }
__device__ inline Key128 load_key(const Key128* at) {
  std::uint64_t low, high;
  asm volatile("{ .reg .b128 whole; ld.relaxed.gpu.b128 whole, [%2]; mov.b128 {%0, %1}, whole; }"
               : "=l"(low), "=l"(high)
               : "l"(at)
               : "memory");
  return (Key128{high} << 64) | low;
}
/// Reads two neighbours with one 16-byte access.
__device__ inline void load_pair(const Key64* at, Key64& first, Key64& second) {
  asm volatile("ld.volatile.v2.u64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(at) : "memory");
}

/// Reads one key of a finished table, or two with one 16-byte access.
template <int Keys, class Key>
__device__ void load_finished(const Key* at, Key* to) {
  if constexpr (Keys * sizeof(Key) == 16) {
    const ulonglong2 both = __ldg(reinterpret_cast<const ulonglong2*>(at));
    memcpy(to, &both, sizeof both);
  } else {
    static_assert(Keys == 1);
    *to = __ldg(at);
  }
}

/// The number of adjacent slots that a lane looks at. While a table changes, it is all of the lane's slots.
/// In a finished table it is what 16 bytes hold: a group's lanes read them side by side, so that an access of
/// the group covers whole sectors.
template <class Key, int SlotsPerLane, Reading kReading>
inline constexpr int kAdjacentSlots = kReading == Reading::changing || SlotsPerLane == 1
                                          ? SlotsPerLane
                                          : static_cast<int>(16 / sizeof(Key));

template <class KeyType, int Lanes, int SlotsPerLane, Reading kReading = Reading::changing>
struct CudaTile : LaneGroup<Lanes, SlotsPerLane, kAdjacentSlots<KeyType, SlotsPerLane, kReading>> {
  using Key = KeyType;
  using Lane = LaneGroup<Lanes, SlotsPerLane, kAdjacentSlots<KeyType, SlotsPerLane, kReading>>;
  using typename Lane::Group;
  using Words = CudaTile<table::PlainWord, Lanes, 32 / Lanes>;
  /// Lane-local: the keys this lane looks at.
  struct Bucket {
    Key keys[SlotsPerLane];
  };
  static constexpr bool kExclusive = false;

  using Lane::Lane;

  __device__ Bucket load(Slots<Key> s) const {
    Bucket bucket;
    const Key* mine = s.keys + this->rank() * SlotsPerLane;
    if constexpr (kReading == Reading::finished) {
      constexpr int kRun = kAdjacentSlots<Key, SlotsPerLane, kReading>;
#pragma unroll
      for (int i = 0; i < SlotsPerLane; i += kRun)
        load_finished<kRun>(s.keys + this->run_start(i / kRun), bucket.keys + i);
    } else if constexpr (sizeof(Key) == 8 && SlotsPerLane % 2 == 0) {
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
  __device__ SlotMask match(const Bucket& b, Key key, Key bits) const {
    SlotMask mine = 0;
#pragma unroll
    for (int i = 0; i < SlotsPerLane; ++i) mine |= SlotMask{((b.keys[i] ^ key) & bits) == 0} << i;
    return this->gather(mine);
  }
  __device__ SlotMask empty(const Bucket& b) const { return match(b, table::kEmptyKey<Key>); }
  __device__ Key key_in(const Bucket& b, int slot) const {
    static_assert(kReading == Reading::changing, "a lane's slots are adjacent");
    Key mine = b.keys[0];  // not b.keys[slot % ...]: that would put the bucket into local memory
#pragma unroll
    for (int i = 1; i < SlotsPerLane; ++i) mine = slot % SlotsPerLane == i ? b.keys[i] : mine;
    return from_lane(mine, slot / SlotsPerLane);
  }

  __device__ std::uint32_t count(const Bucket& /*b*/, Slots<Key> s, int i) const {
    if constexpr (kReading == Reading::finished) {
      return __ldg(s.counts + i);
    } else {
      return *const_cast<const volatile std::uint32_t*>(s.counts + i);
    }
  }

  __device__ Claim claim(Slots<Key> s, int i, Key key, Key over = table::kEmptyKey<Key>) const {
    Key found{};
    if (this->acts(i)) found = compare_and_swap(s.keys + i, over, key);
    int claim = found == over  ? static_cast<int>(Claim::won)
                : found == key ? static_cast<int>(Claim::same_key)
                               : static_cast<int>(Claim::lost);
    return static_cast<Claim>(this->from_lane_of(i, claim));
  }

  /// The exchange is not atomic as a pair: it is only for phases in which no thread reads counts.
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
  __device__ std::uint32_t count(Slots<Key> s, int i) const {
    std::uint32_t now = 0;
    if (this->acts(i)) now = *const_cast<const volatile std::uint32_t*>(s.counts + i);
    return this->from_lane_of(i, now);
  }

  __device__ Words words() const { return Words(this->group); }
  __device__ int lane() const { return this->rank(); }
  __device__ SlotMask ballot(bool mine) const {
    if constexpr (Lanes == 1) {
      return SlotMask{mine};
    } else {
      return this->group.ballot(mine);
    }
  }
  /// Works for any type that can be copied byte by byte.
  template <class Value>
  __device__ Value from_lane(Value mine, int lane) const {
    if constexpr (Lanes > 1 && std::is_same_v<Value, Key128>) {  // by way of an array it would be in memory
      return (Key128{this->group.shfl(static_cast<Key64>(mine >> 64), lane)} << 64) |
             this->group.shfl(static_cast<Key64>(mine), lane);
    } else if constexpr (Lanes > 1) {
      static_assert(sizeof(Value) % sizeof(std::uint32_t) == 0);
      std::uint32_t parts[sizeof(Value) / sizeof(std::uint32_t)];
      memcpy(parts, &mine, sizeof(Value));
#pragma unroll
      for (auto& part : parts) part = this->group.shfl(part, lane);
      memcpy(&mine, parts, sizeof(Value));
    }
    return mine;
  }
};

}  // namespace warpmer::gpu
