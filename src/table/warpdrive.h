#pragma once
/// The WarpDrive scheme (Juenger, Hundt, Schmidt 2018, section IV): a group of lanes looks at adjacent slots
/// at once; windows of slots follow one another by double hashing (table/probing.h), boundedly.
///
/// These may run side by side, on tiles that share a table: insertions of any keys, by `insert` or by `take`;
/// replacements; erasures; and lookups with any of them. Two of the first four may not: the paper, too, has a
/// global barrier between insertions and deletions.

#include <cstddef>
#include <cstdint>

#include "kmer/platform.h"
#include "table/insertion.h"
#include "table/probing.h"
#include "table/tile.h"

namespace warpmer::table {

/// `Layout` is Slots, or SlotBlocks (table/slot_blocks.h).
template <Tile T, class Probing = OrderedWindows<T>, class Layout = Slots<typename T::Key>>
class WarpDrive {
 public:
  using Key = typename T::Key;
  static constexpr int kWindow = T::kWidth;

  /// `slots`: kWindow * probing.groups() of them, all empty at first, with counts of 0.
  WARPMER_HD WarpDrive(Layout slots, Probing probing) : slots_(slots), probing_(probing) {}
  /// Makes it with OrderedWindows(window_bits, key_bits).
  WARPMER_HD WarpDrive(Layout slots, std::uint32_t window_bits, std::uint32_t key_bits)
      : WarpDrive(slots, Probing(window_bits, key_bits)) {}

  [[nodiscard]] WARPMER_HD std::uint32_t home(Key key) const { return probing_.home(key); }
  [[nodiscard]] WARPMER_HD Slots<Key> window(std::uint32_t number) const {
    return slots_.template group<kWindow>(number);
  }

  /// Adds `n` to the key's count. `key` is not kEmptyKey. Tombstones stay: keys are looked for across them.
  WARPMER_HD Insertion insert(const T& tile, Key key, std::uint32_t n) const {
    std::uint32_t number = home(key);
    for (std::uint32_t probe = 0; probe < probing_.max_probes();
         ++probe, number = probing_.next(number, key, probe)) {
      const Slots<Key> s = window(number);
      if constexpr (T::kExclusive) {
        const auto bucket = tile.load(s);
        const SlotMask same = tile.match(bucket, key), empty = tile.empty(bucket);
        if ((same | empty) == 0) [[unlikely]]
          continue;
        // No other tile writes: storing a key over itself is cheaper than guessing a branch.
        const int i = first_slot(same != 0 ? same : empty);
        tile.claim(s, i, key);
        const std::uint32_t before = tile.add(s, i, n);
        return {true, same == 0, before + n < before};
      } else {
        for (;;) {
          const auto bucket = tile.load(s);
          const SlotMask same = tile.match(bucket, key);
          const SlotMask empty = tile.empty(bucket);
          if ((same | empty) == 0) break;
          bool is_new = false;
          const int i = first_slot(same != 0 ? same : empty);
          if (same == 0) {
            const Claim claim = claim_for(tile, s, i, {key, n});
            if (claim == Claim::lost) continue;  // look at the window again: the key may have come
            is_new = claim == Claim::won;
            if (Slots<Key>::kOneWord && is_new) return {true, true, false};
          }
          const std::uint32_t before = tile.add(s, i, n);
          return {true, is_new, before + n < before};
        }
      }
    }
    return {false, false, false};
  }

  /// Inserts into a table that has been erased from, but for the count, which the caller adds to: returns the
  /// key's slot, claimed with a count of 0 where it had none. That is the first slot of the probe sequence
  /// that is empty or a tombstone, once it is certain that the key is nowhere behind it. Exact for any keys
  /// side by side: a free slot that a tile passed over holds another key for good, so two tiles with one key
  /// cannot succeed in different slots. `key` is neither kEmptyKey nor kTombstoneKey.
  [[nodiscard]] WARPMER_HD TakenSlot take(const T& tile, Key key) const {
    for (;;) {
      const ProbedSlot place = look_for(tile, key);
      if (place.slot < 0 || place.holds_key) return {place.slot, false};
      const Claim claim = tile.claim(slots_.at(static_cast<std::size_t>(place.slot)), 0, key, place.over);
      // Each time it is lost there is one free slot less, so this ends.
      if (claim != Claim::lost) return {place.slot, claim == Claim::won};
    }
  }

  /// Sets the key's value, kept where counts are: the last one written stays. If values are written side by
  /// side, one of them stays, whole. `key` and tombstones as for `take`; never wraps.
  WARPMER_HD Insertion replace(const T& tile, Key key, std::uint32_t value) const {
    const TakenSlot taken = take(tile, key);
    if (taken.slot < 0) return {false, false, false};
    const Slots<Key> s = slots_.at(static_cast<std::size_t>(taken.slot));
    if constexpr (Slots<Key>::kOneWord) {
      tile.exchange(s, 0, {key, value});  // the key stays, and no tile tries again where many write
    } else {
      tile.store(s, 0, value);
    }
    return {true, taken.is_new, false};
  }

  /// Takes `n`, at least 1, from the key's count, which may become 0: the slot stays the key's. False: the
  /// count is smaller, and stays as it is. May run beside insertions, replacements but not erasures.
  WARPMER_HD bool subtract(const T& tile, Key key, std::uint32_t n) const {
    static_assert(!Slots<Key>::kOneWord);
    const Found found = find_with_count(tile, key);
    if (found.slot < 0) return false;
    const Slots<Key> s = slots_.at(static_cast<std::size_t>(found.slot));
    for (std::uint32_t there = found.count; there >= n; there = tile.count(s, 0)) {
      if (tile.words().claim(as_slots(s.counts), 0, there - n, there) == Claim::won) return true;
    }
    return false;
  }

  /// Takes the key out of the table; false: it is not there. Its slot becomes empty where the next slot is
  /// (nothing was ever put behind an empty slot, so lookups by groups of any width stop there anyway), and a
  /// tombstone else. Of tiles that erase the same key side by side, one says true.
  WARPMER_HD bool erase(const T& tile, Key key) const {
    std::uint32_t number = home(key);
    for (std::uint32_t probe = 0; probe < probing_.max_probes();
         ++probe, number = probing_.next(number, key, probe)) {
      const Slots<Key> s = window(number);
      const auto bucket = tile.load(s);
      const SlotMask same = tile.match(bucket, key);
      const SlotMask empty = tile.empty(bucket);
      if (same != 0) {
        const int i = first_slot(same);
        tile.store(s, i, 0);
        const bool is_last = i + 1 < kWindow && ((empty >> (i + 1)) & 1) != 0;
        return tile.claim(s, i, is_last ? kEmptyKey<Key> : kTombstoneKey<Key>, key) == Claim::won;
      }
      if (empty != 0) return false;
    }
    return false;
  }

  /// Returns the slot that holds the key, or -1.
  [[nodiscard]] WARPMER_HD std::ptrdiff_t find(const T& tile, Key key) const {
    return search<false>(tile, key).slot;
  }
  /// Finds the key with its count, which, beside insertions, may be that of a moment ago.
  [[nodiscard]] WARPMER_HD Found find_with_count(const T& tile, Key key) const {
    return search<true>(tile, key);
  }

 private:
  template <bool kWithCount>
  [[nodiscard]] WARPMER_HD Found search(const T& tile, Key key) const {
    std::uint32_t number = home(key);
    for (std::uint32_t probe = 0; probe < probing_.max_probes();
         ++probe, number = probing_.next(number, key, probe)) {
      const Slots<Key> s = window(number);
      const auto bucket = tile.load(s);
      const SlotMask same = tile.match(bucket, key);
      if (same != 0) {
        const int i = first_slot(same);
        return {static_cast<std::ptrdiff_t>(number) * kWindow + i, kWithCount ? tile.count(bucket, s, i) : 0};
      }
      if (tile.empty(bucket) != 0) break;  // an insertion would have stopped here
    }
    return {-1, 0};
  }

  /// The place where a key is, or could go.
  struct ProbedSlot {
    std::ptrdiff_t slot;  ///< -1: nowhere
    bool holds_key;
    Key over;  ///< key that the slot holds if not the one looked for
  };
  [[nodiscard]] WARPMER_HD ProbedSlot look_for(const T& tile, Key key) const {
    ProbedSlot free{-1, false, kEmptyKey<Key>};
    std::uint32_t number = home(key);
    for (std::uint32_t probe = 0; probe < probing_.max_probes();
         ++probe, number = probing_.next(number, key, probe)) {
      const auto bucket = tile.load(window(number));
      const SlotMask same = tile.match(bucket, key);
      const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(number) * kWindow;
      if (same != 0) return {first + first_slot(same), true, key};
      const SlotMask empty = tile.empty(bucket);
      const SlotMask dead = tile.match(bucket, kTombstoneKey<Key>);
      if (free.slot < 0 && (empty | dead) != 0) {
        const int i = first_slot(empty | dead);
        free = {first + i, false, ((empty >> i) & 1) != 0 ? kEmptyKey<Key> : kTombstoneKey<Key>};
      }
      if (empty != 0) break;
    }
    return free;
  }

  Layout slots_;
  Probing probing_;
};

}  // namespace warpmer::table
