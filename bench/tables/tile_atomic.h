#pragma once
/// The host tile for a table that several threads write to: one compare-and-swap claims a key, one
/// fetch-and-add counts.

#include <atomic>
#include <cstdint>

#include "table/tile.h"

namespace warpmer::bench {

template <int Width, class KeyType = std::uint64_t>
struct AtomicTile {
  using Key = KeyType;
  using Words = AtomicTile<32, table::PlainWord>;
  static constexpr int kWidth = Width;
  static constexpr bool kExclusive = false;
  struct Bucket {
    Key keys[Width];
  };

  Bucket load(table::Slots<Key> s) const {
    Bucket b;
    for (int i = 0; i < Width; ++i) b.keys[i] = std::atomic_ref(s.keys[i]).load(std::memory_order_acquire);
    return b;
  }
  table::SlotMask match(const Bucket& b, Key key) const {
    table::SlotMask mask = 0;
    for (int i = 0; i < Width; ++i) mask |= table::SlotMask{b.keys[i] == key} << i;
    return mask;
  }
  table::SlotMask match(const Bucket& b, Key key, Key bits) const {
    table::SlotMask mask = 0;
    for (int i = 0; i < Width; ++i) mask |= table::SlotMask{((b.keys[i] ^ key) & bits) == 0} << i;
    return mask;
  }
  table::SlotMask empty(const Bucket& b) const { return match(b, table::kEmptyKey<Key>); }
  static std::uint32_t count(const Bucket& /*b*/, table::Slots<Key> s, int i) {
    return std::atomic_ref(s.counts[i]).load(std::memory_order_relaxed);
  }
  Key key_in(const Bucket& b, int i) const { return b.keys[i]; }
  /// A tile that claims what another gave back (slab_alloc.h) sees all that was done to it before. For
  /// counting relaxed order would be enough: what is known of a key is in one word.
  table::Claim claim(table::Slots<Key> s, int i, Key key, Key over = table::kEmptyKey<Key>) const {
    Key found = over;
    if (std::atomic_ref(s.keys[i]).compare_exchange_strong(found, key, std::memory_order_acq_rel))
      return table::Claim::won;
    return found == key ? table::Claim::same_key : table::Claim::lost;
  }
  /// Key and count are two words: only for phases in which no other tile touches the slot's key.
  table::Slot<Key> exchange(table::Slots<Key> s, int i, table::Slot<Key> in) const {
    return {std::atomic_ref(s.keys[i]).exchange(in.key, std::memory_order_relaxed),
            std::atomic_ref(s.counts[i]).exchange(in.count, std::memory_order_relaxed)};
  }
  Key exchange_key(table::Slots<Key> s, int i, Key in) const {
    return std::atomic_ref(s.keys[i]).exchange(in, std::memory_order_acq_rel);
  }
  std::uint32_t add(table::Slots<Key> s, int i, std::uint32_t n) const {
    return std::atomic_ref(s.counts[i]).fetch_add(n, std::memory_order_acq_rel);
  }
  void store(table::Slots<Key> s, int i, std::uint32_t n) const {
    std::atomic_ref(s.counts[i]).store(n, std::memory_order_relaxed);
  }
  std::uint32_t count(table::Slots<Key> s, int i) const {
    return std::atomic_ref(s.counts[i]).load(std::memory_order_acquire);
  }
  Words words() const { return {}; }
  int lane() const { return 0; }
  table::SlotMask ballot(bool mine) const { return table::SlotMask{mine}; }
  template <class Value>
  Value from_lane(const Value& mine, int /*lane*/) const {
    return mine;
  }
};

}  // namespace warpmer::bench
