#pragma once
/// Iceberg hashing (Awad et al. 2023, sections 3.2 and 5.3): a key goes into its primary bucket while that is
/// filled below a threshold, and else into the emptier of two secondary buckets. Stable: a key never moves.
/// A bucket is what a tile looks at, 16 slots (load up to 0.82) or 32 (up to 0.91).
///
/// A key whose three buckets are full goes to a stash (table/stash.h). When that is full, too, the build has
/// failed: the owner starts again with another seed (table/rebuild.h) or keeps the key beside the table.
///
/// **Counting.** `insert` is exact on a tile that owns its table, and on tiles that share one for keys that
/// no two of them bring at the same time. Two that do may come to different secondary buckets, because others
/// fill these, and each put in a copy with its part of the count. Where that can happen, tiles take two
/// passes over the keys, with a barrier between: `place` puts keys in, `add` counts. That is exact for any
/// keys, because `find` always comes to the same copy first. A slot whose count is 0 after the second pass
/// holds a spare copy.

#include <cstddef>
#include <cstdint>

#include "table/hashed_buckets.h"
#include "table/insertion.h"
#include "table/tile.h"

namespace warpmer::table {

template <Tile T, int ThresholdPercent = 80>
class Iceberg : public InHashedBuckets<Iceberg<T, ThresholdPercent>, T> {
  using Base = InHashedBuckets<Iceberg, T>;
  friend Base;

 public:
  using Key = typename T::Key;
  using Base::kBucket;
  /// Number of filled slots from which on a primary bucket sends keys away: 12 of 16, 25 of 32. (80 % is what
  /// section 7.1.2 found best. Rounded down: with these thresholds we get the paper's numbers of probes,
  /// although its Fig. 2 has 13 of 16.)
  static constexpr int kThreshold = kBucket * ThresholdPercent / 100;

  /// `slots`: slots_for(buckets) of them, all empty at first, with counts of 0; buckets at least 1.
  WARPMER_HD Iceberg(Slots<Key> slots, std::uint32_t buckets, std::uint32_t seed)
      : Base(slots, buckets, seed) {}

  /// Adds `n` to the key's count. `key` is not kEmptyKey.
  WARPMER_HD Insertion insert(const T& tile, Key key, std::uint32_t n) const {
    const TakenSlot taken = take(tile, {key, n});
    if (taken.slot < 0) return buckets_.stow(tile, key, n);
    if (Slots<Key>::kOneWord && taken.is_new) return {true, true, false};
    return buckets_.count(tile, taken.slot, taken.is_new, n);
  }

  /// Puts the key in; counts stay as they are. New: a copy was put in, though other tiles may have put in
  /// another at the same time.
  WARPMER_HD Insertion place(const T& tile, Key key) const {
    const TakenSlot taken = take(tile, {key, 0});
    if (taken.slot < 0) return buckets_.stow(tile, key, 0);
    return {true, taken.is_new, false};
  }

 private:
  using Base::buckets_;
  static constexpr int kChoices = 3;  ///< the primary bucket (0), and two secondary ones

  /// A primary bucket below the threshold has never sent a key away: there a lookup ends (the paper reads all
  /// three buckets).
  template <bool kWithCount>
  [[nodiscard]] WARPMER_HD Found search(const T& tile, Key key) const {
    const std::uint64_t mixed = buckets_.mix(key);
    SlotMask empty = 0;
    for (int i = 0; i < kChoices; ++i) {
      const std::uint32_t number = buckets_.number(mixed, i);
      const Slots<Key> s = buckets_.bucket(number);
      const auto loaded = tile.load(s);
      const SlotMask same = tile.match(loaded, key);
      const SlotMask here = tile.empty(loaded);
      if (same != 0) {
        const int slot = first_slot(same);
        return {buckets_.slot_in(number, slot), kWithCount ? tile.count(loaded, s, slot) : 0};
      }
      if (i == 0 && kBucket - slots_in(here) < kThreshold) return {-1, 0};
      empty |= here;
    }
    if (empty != 0) return {-1, 0};
    return buckets_.template search_stash<kWithCount>(tile, key);
  }

  /// The place where a key is, or should go.
  struct Seat {
    std::ptrdiff_t slot;  ///< -1: not in its buckets, which are full
    bool holds_key;
  };
  [[nodiscard]] WARPMER_HD Seat look_for(const T& tile, Key key) const {
    const std::uint64_t mixed = buckets_.mix(key);
    const std::uint32_t primary = buckets_.number(mixed, 0);
    const auto loaded = tile.load(buckets_.bucket(primary));
    const SlotMask same = tile.match(loaded, key);
    const SlotMask empty = tile.empty(loaded);
    if (same != 0) return {buckets_.slot_in(primary, first_slot(same)), true};
    if (kBucket - slots_in(empty) < kThreshold) return {buckets_.slot_in(primary, first_slot(empty)), false};
    return look_beyond(tile, key, mixed, empty);
  }

  /// Past a primary bucket that is filled to its threshold and has these slots left. They are taken last.
  [[nodiscard]] WARPMER_HD Seat look_beyond(const T& tile, Key key, std::uint64_t mixed,
                                            SlotMask primary_empty) const {
    const std::uint32_t first = buckets_.number(mixed, 1), second = buckets_.number(mixed, 2);
    const auto loaded_first = tile.load(buckets_.bucket(first));
    const auto loaded_second = tile.load(buckets_.bucket(second));
    const SlotMask same_first = tile.match(loaded_first, key);
    const SlotMask same_second = tile.match(loaded_second, key);
    const SlotMask empty_first = tile.empty(loaded_first);
    const SlotMask empty_second = tile.empty(loaded_second);
    if (same_first != 0) return {buckets_.slot_in(first, first_slot(same_first)), true};
    if (same_second != 0) return {buckets_.slot_in(second, first_slot(same_second)), true};
    if ((empty_first | empty_second) != 0) {
      return slots_in(empty_first) >= slots_in(empty_second)
                 ? Seat{buckets_.slot_in(first, first_slot(empty_first)), false}
                 : Seat{buckets_.slot_in(second, first_slot(empty_second)), false};
    }
    if (primary_empty != 0)
      return {buckets_.slot_in(buckets_.number(mixed, 0), first_slot(primary_empty)), false};
    return {-1, false};
  }

  [[nodiscard]] WARPMER_HD TakenSlot take(const T& tile, Slot<Key> in) const {
    for (;;) {
      const Seat seat = look_for(tile, in.key);
      if (seat.slot < 0 || seat.holds_key) return {seat.slot, false};
      const Claim claim = claim_for(tile, buckets_.at(seat.slot), 0, in);
      // Lost: look again. Buckets have filled, so this ends, and the key may have come.
      if (claim != Claim::lost) return {seat.slot, claim == Claim::won};
    }
  }
};

}  // namespace warpmer::table
