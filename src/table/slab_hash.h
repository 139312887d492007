#pragma once
/// The slab hash (Ashkiani et al. 2018) for k-mers: keys of 64 or 128 bits, each with a count of 32 bits, in
/// buckets that are lists of slabs (slab_lists.h). bench/tables/slab_elements.h has the paper's own elements.
///
/// **What is known of a key is in one word**: its count. 0 is "not there". A key gets a slot when it first
/// comes and keeps it until `flush`, whatever becomes of its count; of two tiles that bring the same new key
/// one claims the slot and both count in it. So each operation comes down to one atomic change or one reading
/// of one word, and all of them, of any keys, may run side by side in one launch: what they answer is what
/// they would have answered one after another, each at the moment it touched the count (for a key that has no
/// slot: at the moment when the end of its list was seen empty). In the paper, erased keys leave tombstones
/// until the flush; here they leave their slot to themselves, and come back into it.
///
/// `flush`, `for_each` and destroying the slabs are for when no other tile works on the table. A full table,
/// that is, an allocator that is out of units, refuses new keys; nothing else is lost.

#include <cstdint>

#include "kmer/platform.h"
#include "table/insertion.h"
#include "table/slab_lists.h"
#include "table/tile.h"

namespace warpmer::table {

template <SlabTile T, class UnitsType, class BucketOf>
class SlabHash {
 public:
  using Lists = SlabLists<T, UnitsType, BucketOf>;
  using Slab = typename Lists::Slab;
  using Key = typename T::Key;
  static_assert(Slab::kHasCounts);

  /// Takes the same as SlabLists: one empty slab for each bucket, the bucket of a key, and where further
  /// slabs come from.
  WARPMER_HD SlabHash(Slab* bases, BucketOf bucket_of, SlabAlloc<UnitsType> alloc)
      : lists_(bases, bucket_of, alloc), alloc_(alloc) {}

  /// Makes the state for operations that may need a slab; one for each tile at work, with a number of its
  /// own.
  [[nodiscard]] WARPMER_HD ResidentBlock resident(const T& tile, std::uint32_t worker) const {
    return alloc_.resident(tile.words(), worker);
  }

  /// Adds `n`, at least 1, to the key's count. New: it was not there. `key` is not kEmptyKey. A count that
  /// wraps is the caller's to carry; one that wraps to 0 is not there until it is added to.
  WARPMER_HD Insertion insert(const T& tile, ResidentBlock& resident, Key key, std::uint32_t n) const {
    const SlabPlace place = place_for(tile, resident, key);
    if (place.slab == nullptr) return {false, false, false};
    const std::uint32_t before = tile.add(place.slab->slots(), place.slot, n);
    return {true, before == 0, before + n < before};
  }

  /// Sets the key's count, to at least 1: the last one written stays. New: it was not there.
  WARPMER_HD Insertion replace(const T& tile, ResidentBlock& resident, Key key, std::uint32_t count) const {
    const SlabPlace place = place_for(tile, resident, key);
    if (place.slab == nullptr) return {false, false, false};
    return {true, exchange_count(tile, place, count) == 0, false};
  }

  /// Takes the key out of the table, and returns the count it had; 0: it was not there.
  WARPMER_HD std::uint32_t erase(const T& tile, Key key) const {
    const SlabPlace place = find_place(tile, key);
    return place.slab == nullptr ? 0 : exchange_count(tile, place, 0);
  }

  struct Subtraction {
    bool done;            ///< false: the count is too small, and stays as it is
    std::uint32_t there;  ///< the count before
  };
  /// Takes `n`, at least 1, from the key's count; at 0 it is not there any more.
  WARPMER_HD Subtraction subtract(const T& tile, Key key, std::uint32_t n) const {
    const SlabPlace place = find_place(tile, key);
    if (place.slab == nullptr) return {false, 0};
    for (;;) {
      const std::uint32_t there = tile.count(place.slab->slots(), place.slot);
      if (there < n) return {false, there};
      const Slots<PlainWord> counts = as_slots(place.slab->counts);
      if (tile.words().claim(counts, place.slot, there - n, there) == Claim::won) return {true, there};
    }
  }

  /// Returns the key's count; 0: it is not there.
  [[nodiscard]] WARPMER_HD std::uint32_t find(const T& tile, Key key) const {
    const SlabPlace place = find_place(tile, key);
    return place.slab == nullptr ? 0 : tile.count(place.slab->slots(), place.slot);
  }

  struct SlabPlace {
    Slab* slab;  ///< null: none
    int slot;
  };
  /// Returns the slot that is a key's, whatever its count.
  [[nodiscard]] WARPMER_HD SlabPlace find_place(const T& tile, Key key) const {
    for (Slab* slab = lists_.base_of(key); slab != nullptr; slab = lists_.next(tile, slab)) {
      const auto loaded = tile.load(slab->slots());
      const SlotMask same = tile.match(loaded, key) & Lists::kElements;
      const SlotMask empty = tile.empty(loaded) & Lists::kElements;
      if (same != 0) return {slab, first_slot(same)};
      if (empty != 0) break;
    }
    return {nullptr, 0};
  }

  /// Returns the slot that is a key's; when it has none, it gets the first of its list that is free. Nowhere:
  /// the allocator is out of units.
  [[nodiscard]] WARPMER_HD SlabPlace place_for(const T& tile, ResidentBlock& resident, Key key) const {
    for (Slab* slab = lists_.base_of(key); slab != nullptr; slab = lists_.next_or_new(tile, resident, slab)) {
      for (;;) {
        const auto loaded = tile.load(slab->slots());
        const SlotMask same = tile.match(loaded, key) & Lists::kElements;
        const SlotMask empty = tile.empty(loaded) & Lists::kElements;
        if (same != 0) return {slab, first_slot(same)};
        if (empty == 0) break;
        const int slot = first_slot(empty);
        if (tile.claim(slab->slots(), slot, key) != Claim::lost) return {slab, slot};
      }
    }
    return {nullptr, 0};
  }

  [[nodiscard]] WARPMER_HD std::uint32_t buckets() const { return lists_.buckets(); }
  /// Slabs of a bucket.
  [[nodiscard]] WARPMER_HD std::uint32_t length(const T& tile, std::uint32_t bucket) const {
    return lists_.length(tile, bucket);
  }
  /// Calls `visit(Slot<Key>)` for every key of a bucket that is there.
  template <class Visit>
  WARPMER_HD void for_each(const T& tile, std::uint32_t bucket, Visit&& visit) const {
    lists_.for_each(tile, bucket, visit);
  }
  /// Drops what is not there any more, and gives slabs back: see SlabLists.
  WARPMER_HD typename Lists::Flushed flush(const T& tile, std::uint32_t bucket) const {
    return lists_.flush(tile, bucket);
  }

 private:
  [[nodiscard]] WARPMER_HD static std::uint32_t exchange_count(const T& tile, SlabPlace place,
                                                               std::uint32_t count) {
    return tile.words().exchange_key(as_slots(place.slab->counts), place.slot, count);
  }

  Lists lists_;
  SlabAlloc<UnitsType> alloc_;
};

}  // namespace warpmer::table
