#pragma once
/// The host tile for a table that several threads write to: one compare-and-swap claims a key, one
/// fetch-and-add counts.

#include <atomic>
#include <cstdint>

#include "table/tile.h"

namespace warpmer::table {

template <int Width>
struct AtomicTile {
  using Key = std::uint64_t;
  static constexpr int kWidth = Width;
  static constexpr bool kExclusive = false;
  struct Bucket {
    Key keys[Width];
  };

  Bucket load(Slots<Key> s) const {
    Bucket b;
    for (int i = 0; i < Width; ++i) b.keys[i] = std::atomic_ref(s.keys[i]).load(std::memory_order_relaxed);
    return b;
  }
  SlotMask match(const Bucket& b, Key key) const {
    SlotMask mask = 0;
    for (int i = 0; i < Width; ++i) mask |= SlotMask{b.keys[i] == key} << i;
    return mask;
  }
  SlotMask empty(const Bucket& b) const { return match(b, kEmptyKey<Key>); }
  static std::uint32_t count(const Bucket& /*b*/, Slots<Key> s, int i) {
    return std::atomic_ref(s.counts[i]).load(std::memory_order_relaxed);
  }
  /// Relaxed order is enough: no scheme reads a count by the key beside it while others write, and counts
  /// are read after the threads have joined.
  Claim claim(Slots<Key> s, int i, Key key, Key over = kEmptyKey<Key>) const {
    Key found = over;
    if (std::atomic_ref(s.keys[i]).compare_exchange_strong(found, key, std::memory_order_relaxed))
      return Claim::won;
    return found == key ? Claim::same_key : Claim::lost;
  }
  /// Key and count are two words: only for phases in which no one else touches the slot's key.
  Slot<Key> exchange(Slots<Key> s, int i, Slot<Key> in) const {
    return {std::atomic_ref(s.keys[i]).exchange(in.key, std::memory_order_relaxed),
            std::atomic_ref(s.counts[i]).exchange(in.count, std::memory_order_relaxed)};
  }
  Key exchange_key(Slots<Key> s, int i, Key in) const {
    return std::atomic_ref(s.keys[i]).exchange(in, std::memory_order_relaxed);
  }
  std::uint32_t add(Slots<Key> s, int i, std::uint32_t n) const {
    return std::atomic_ref(s.counts[i]).fetch_add(n, std::memory_order_relaxed);
  }
  void store(Slots<Key> s, int i, std::uint32_t n) const {
    std::atomic_ref(s.counts[i]).store(n, std::memory_order_relaxed);
  }
};

}  // namespace warpmer::table
