#pragma once
/// The host tile for a table that several threads write to: one compare-and-swap claims a key, one
/// fetch-and-add counts.

#include <atomic>
#include <cstdint>

#include "table/tile.h"

namespace warpmer::table {

template <int Width, class KeyType = std::uint64_t>
struct AtomicTile {
  using Key = KeyType;
  using Words = AtomicTile<32, PlainWord>;
  static constexpr int kWidth = Width;
  static constexpr bool kExclusive = false;
  struct Bucket {
    Key keys[Width];
  };

  Bucket load(Slots<Key> s) const {
    Bucket b;
    for (int i = 0; i < Width; ++i) b.keys[i] = std::atomic_ref(s.keys[i]).load(std::memory_order_acquire);
    return b;
  }
  SlotMask match(const Bucket& b, Key key) const {
    SlotMask mask = 0;
    for (int i = 0; i < Width; ++i) mask |= SlotMask{b.keys[i] == key} << i;
    return mask;
  }
  SlotMask match(const Bucket& b, Key key, Key bits) const {
    SlotMask mask = 0;
    for (int i = 0; i < Width; ++i) mask |= SlotMask{((b.keys[i] ^ key) & bits) == 0} << i;
    return mask;
  }
  SlotMask empty(const Bucket& b) const { return match(b, kEmptyKey<Key>); }
  static std::uint32_t count(const Bucket& /*b*/, Slots<Key> s, int i) {
    return std::atomic_ref(s.counts[i]).load(std::memory_order_relaxed);
  }
  Key key_in(const Bucket& b, int i) const { return b.keys[i]; }
  /// A tile that claims what another gave back (slab_alloc.h) sees all that was done to it before. For
  /// counting relaxed order would be enough: what is known of a key is in one word.
  Claim claim(Slots<Key> s, int i, Key key, Key over = kEmptyKey<Key>) const {
    Key found = over;
    if (std::atomic_ref(s.keys[i]).compare_exchange_strong(found, key, std::memory_order_acq_rel))
      return Claim::won;
    return found == key ? Claim::same_key : Claim::lost;
  }
  /// Key and count are two words: only for phases in which no other tile touches the slot's key.
  Slot<Key> exchange(Slots<Key> s, int i, Slot<Key> in) const {
    return {std::atomic_ref(s.keys[i]).exchange(in.key, std::memory_order_relaxed),
            std::atomic_ref(s.counts[i]).exchange(in.count, std::memory_order_relaxed)};
  }
  Key exchange_key(Slots<Key> s, int i, Key in) const {
    return std::atomic_ref(s.keys[i]).exchange(in, std::memory_order_acq_rel);
  }
  std::uint32_t add(Slots<Key> s, int i, std::uint32_t n) const {
    return std::atomic_ref(s.counts[i]).fetch_add(n, std::memory_order_acq_rel);
  }
  void store(Slots<Key> s, int i, std::uint32_t n) const {
    std::atomic_ref(s.counts[i]).store(n, std::memory_order_relaxed);
  }
  std::uint32_t count(Slots<Key> s, int i) const {
    return std::atomic_ref(s.counts[i]).load(std::memory_order_acquire);
  }
  Words words() const { return {}; }
  int lane() const { return 0; }
  SlotMask ballot(bool mine) const { return SlotMask{mine}; }
  template <class Value>
  Value from_lane(const Value& mine, int /*lane*/) const {
    return mine;
  }
};

}  // namespace warpmer::table
