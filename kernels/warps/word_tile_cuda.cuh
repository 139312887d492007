#pragma once
/// The Tile concept for tables of words (table/word_slots.h) on a GPU: a group of `Lanes` adjacent lanes
/// looks at a bucket, each at `SlotsPerLane` adjacent words of it. Every change of a slot is one atomic
/// operation on its word.

#include <cstdint>

#include "kernels/warps/lane_group.cuh"
#include "table/word_slots.h"

namespace warpmer::gpu {

/// Reads one word, or two with one 16-byte access.
template <Reading kReading>
__device__ void load_word(const std::uint64_t* at, std::uint64_t& word) {
  if constexpr (kReading == Reading::finished) {
    word = __ldg(reinterpret_cast<const unsigned long long*>(at));
  } else {
    word = *const_cast<const volatile std::uint64_t*>(at);
  }
}
template <Reading kReading>
__device__ void load_pair(const std::uint64_t* at, std::uint64_t& first, std::uint64_t& second) {
  if constexpr (kReading == Reading::finished) {
    const ulonglong2 pair = __ldg(reinterpret_cast<const ulonglong2*>(at));
    first = pair.x;
    second = pair.y;
  } else {
    asm volatile("ld.volatile.v2.u64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(at) : "memory");
  }
}

/// The number of words that a lane reads at once. A group's lanes read them side by side, so that an access
/// of the group covers whole sectors.
template <int SlotsPerLane>
inline constexpr int kWordsAtOnce = SlotsPerLane == 1 ? 1 : 2;

template <int Lanes, int SlotsPerLane, Reading kReading = Reading::changing>
struct CudaWordTile : LaneGroup<Lanes, SlotsPerLane, kWordsAtOnce<SlotsPerLane>> {
  using Key = table::Key32;
  using Lane = LaneGroup<Lanes, SlotsPerLane, kWordsAtOnce<SlotsPerLane>>;
  using typename Lane::Group;
  using Slots = table::Slots<Key>;
  using Slot = table::Slot<Key>;
  /// Lane-local: the words this lane looks at.
  struct Bucket {
    std::uint64_t words[SlotsPerLane];
  };
  static constexpr bool kExclusive = false;
  static_assert((SlotsPerLane & (SlotsPerLane - 1)) == 0, "words are read in pairs, and picked by halves");

  using Lane::Lane;

  __device__ Bucket load(Slots s) const {
    Bucket bucket;
    if constexpr (SlotsPerLane == 1) {
      load_word<kReading>(s.words + this->rank(), bucket.words[0]);
    } else {
#pragma unroll
      for (int i = 0; i < SlotsPerLane; i += 2)
        load_pair<kReading>(s.words + this->run_start(i / 2), bucket.words[i], bucket.words[i + 1]);
    }
    return bucket;
  }
  __device__ table::SlotMask match(const Bucket& b, Key key) const {
    table::SlotMask mine = 0;
#pragma unroll
    for (int i = 0; i < SlotsPerLane; ++i) mine |= table::SlotMask{table::key_of(b.words[i]) == key} << i;
    return this->gather(mine);
  }
  __device__ table::SlotMask empty(const Bucket& b) const { return match(b, table::kEmptyKey<Key>); }
  __device__ std::uint32_t count(const Bucket& b, Slots /*s*/, int slot) const {
    return this->from_lane_of(slot, count_of_one<0, SlotsPerLane>(b, this->place_in_lane(slot)));
  }

  __device__ table::Claim claim(Slots s, int i, Key key, Key over = table::kEmptyKey<Key>) const {
    int claim = 0;
    if (this->acts(i)) {
      claim =
          static_cast<int>(table::claim_word(key, over, [&](std::uint64_t expected, std::uint64_t desired) {
            return swap(s, i, expected, desired);
          }));
    }
    return static_cast<table::Claim>(this->from_lane_of(i, claim));
  }
  __device__ table::Claim claim_whole(Slots s, int i, Slot in) const {
    Key found = 0;
    if (this->acts(i)) found = table::key_of(swap(s, i, table::kEmptyWord, table::word_of(in)));
    return table::claim_result(this->from_lane_of(i, found), table::kEmptyKey<Key>, in.key);
  }
  __device__ Slot exchange(Slots s, int i, Slot in) const {
    unsigned long long out = 0;
    if (this->acts(i)) out = atomicExch(word(s, i), table::word_of(in));
    out = this->from_lane_of(i, out);
    return {table::key_of(out), table::count_of(out)};
  }
  __device__ Key exchange_key(Slots s, int i, Key in) const {
    Key out{};
    if (this->acts(i)) {
      out = table::key_of(change(s, i, [&](std::uint64_t before) {
        return table::word_of({in, table::count_of(before)});
      }));
    }
    return this->from_lane_of(i, out);
  }
  __device__ std::uint32_t add(Slots s, int i, std::uint32_t n) const {
    std::uint32_t before = 0;
    if (this->acts(i))
      before = table::count_of(atomicAdd(word(s, i), static_cast<unsigned long long>(n) << 32));
    return this->from_lane_of(i, before);
  }
  __device__ void store(Slots s, int i, std::uint32_t n) const {
    if (!this->acts(i)) return;
    change(s, i, [&](std::uint64_t before) { return table::word_of({table::key_of(before), n}); });
  }

 private:
  /// Returns the chosen one of the lane's words from kFirst on. It halves the range, because an index would
  /// put the bucket into local memory.
  template <int kFirst, int kWords>
  __device__ static std::uint32_t count_of_one(const Bucket& b, int place) {
    if constexpr (kWords == 1) {
      return table::count_of(b.words[kFirst]);
    } else {
      const std::uint32_t low = count_of_one<kFirst, kWords / 2>(b, place);
      const std::uint32_t high = count_of_one<kFirst + kWords / 2, kWords / 2>(b, place);
      return (place & (kWords / 2)) != 0 ? high : low;
    }
  }

  __device__ static unsigned long long* word(Slots s, int i) {
    return reinterpret_cast<unsigned long long*>(s.words + i);
  }
  /// Compares and swaps a word; returns the word that it met.
  __device__ static std::uint64_t swap(Slots s, int i, std::uint64_t expected, std::uint64_t desired) {
    return atomicCAS(word(s, i), expected, desired);
  }
  template <class Change>
  __device__ static std::uint64_t change(Slots s, int i, Change&& changed) {
    for (std::uint64_t before = *const_cast<const volatile std::uint64_t*>(s.words + i);;) {
      const std::uint64_t found = swap(s, i, before, changed(before));
      if (found == before) return before;
      before = found;
    }
  }
};

}  // namespace warpmer::gpu
