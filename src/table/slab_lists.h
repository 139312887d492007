#pragma once
/// Slab lists (Ashkiani et al. 2018, section III-A): a base slab for each bucket, and behind it what
/// SlabAlloc hands out. Slots are filled from the front of a list to its end, each once, and nothing is moved
/// or emptied while others work: until `flush`, a slot that a tile has seen filled stays so, and behind a
/// slot that is empty there is nothing. All that the slab hash promises rests on this.

#include <cstdint>

#include "kmer/platform.h"
#include "table/slab.h"
#include "table/slab_alloc.h"
#include "table/tile.h"

namespace warpmer::table {

template <SlabTile T, class UnitsType, class BucketOf>
class SlabLists {
 public:
  using Slab = typename UnitsType::Unit;
  using Key = typename Slab::Key;
  static constexpr int kSlots = Slab::kSlots;
  /// A tile may look at a whole slab: what is not an element is left out by this mask.
  static constexpr SlotMask kElements = (SlotMask{1} << kSlots) - 1;
  static_assert(T::kWidth >= kSlots && T::kWidth * sizeof(Key) <= kSlabBytes);

  /// `bases`: an empty slab for each bucket, of which there is at least one. Units of `alloc`: empty slabs.
  WARPMER_HD SlabLists(Slab* bases, BucketOf bucket_of, SlabAlloc<UnitsType> alloc)
      : bases_(bases), bucket_of_(bucket_of), alloc_(alloc) {}

  [[nodiscard]] WARPMER_HD std::uint32_t buckets() const { return bucket_of_.buckets(); }
  /// Returns the first slab of a bucket.
  [[nodiscard]] WARPMER_HD Slab* base(std::uint32_t bucket) const { return bases_ + bucket; }
  /// Returns the first slab of the bucket of a key, or of what buckets are chosen by.
  template <class HomeKey>
  [[nodiscard]] WARPMER_HD Slab* base_of(HomeKey key) const {
    return bases_ + bucket_of_(key);
  }
  /// Returns the next slab of a list, or null.
  [[nodiscard]] WARPMER_HD Slab* next(const T& tile, Slab* slab) const {
    const SlabAddress address = tile.words().count(as_counts(&slab->next), 0);
    return address == kNoSlab ? nullptr : alloc_.at(address);
  }
  /// Returns the next slab, appended when there is none; null: SlabAlloc is out of units. While tiles that
  /// lost the race to append still hold theirs units may seem to be out that are not, so that is tried some
  /// time.
  [[nodiscard]] WARPMER_HD Slab* next_or_new(const T& tile, ResidentBlock& resident, Slab* slab) const {
    Slab* there = next(tile, slab);
    for (int i = 0; there == nullptr && i < kPatience; ++i) {
      const SlabAddress fresh = alloc_.allocate(tile.words(), resident);
      if (fresh != kNoSlab) {
        if (tile.words().claim(as_slots(&slab->next), 0, fresh, kNoSlab) == Claim::won)
          return alloc_.at(fresh);
        alloc_.free(tile.words(), fresh);  // another tile has appended one; no tile has seen ours
      }
      there = next(tile, slab);
    }
    return there;
  }

  /// Slabs of a bucket, its base included.
  [[nodiscard]] WARPMER_HD std::uint32_t length(const T& tile, std::uint32_t bucket) const {
    std::uint32_t slabs = 0;
    for (Slab* slab = base(bucket); slab != nullptr; slab = next(tile, slab)) ++slabs;
    return slabs;
  }

  /// Calls `visit(element)` for each live element of a bucket: Slot<Key>, its count 1 where there are none.
  /// Live is what has a count, or is no tombstone.
  template <class Visit>
  WARPMER_HD void for_each(const T& tile, std::uint32_t bucket, Visit&& visit) const {
    for (Slab* slab = base(bucket); slab != nullptr; slab = next(tile, slab)) {
      const auto loaded = tile.load(slab->slots());
      const int filled = slots_in(kElements & ~tile.empty(loaded));
      for (int i = 0; i < filled; ++i) {
        const Slot<Key> element = element_in(tile, slab, loaded, i);
        if (element.count != 0) visit(element);
      }
      if (filled < kSlots) return;
    }
  }

  /// Elements and slabs that a flush made free.
  struct Flushed {
    std::uint32_t elements;  ///< that were not live
    std::uint32_t slabs;     ///< that are given back
  };
  /// Moves a bucket's live elements to the front of its list and gives the slabs that are left over back to
  /// SlabAlloc (paper, section IV-C4). No other tile may work on this bucket meanwhile, and none may
  /// allocate; other tiles may flush other buckets.
  WARPMER_HD Flushed flush(const T& tile, std::uint32_t bucket) const {
    Slab* to = base(bucket);
    int to_slot = 0;
    std::uint32_t dropped = 0;
    for (Slab* from = to; from != nullptr; from = next(tile, from)) {
      const auto loaded = tile.load(from->slots());
      const int filled = slots_in(kElements & ~tile.empty(loaded));
      for (int i = 0; i < filled; ++i) {
        const Slot<Key> element = element_in(tile, from, loaded, i);
        if (element.count == 0) {
          ++dropped;
          continue;
        }
        if (to_slot == kSlots) {
          to = next(tile, to);
          to_slot = 0;
        }
        if (to != from || to_slot != i) put(tile, to, to_slot, element);
        ++to_slot;
      }
    }
    return {dropped, cut(tile, to, to_slot)};
  }

 private:
  static constexpr int kPatience = T::kExclusive ? 1 : 32;

  [[nodiscard]] WARPMER_HD static Slot<Key> element_in(const T& tile, Slab* slab,
                                                       const typename T::Bucket& loaded, int slot) {
    const Key key = tile.key_in(loaded, slot);
    if constexpr (Slab::kHasCounts) {
      return {key, tile.count(slab->slots(), slot)};
    } else {
      return {key, key == kTombstoneKey<Key> ? 0u : 1u};
    }
  }
  WARPMER_HD static void put(const T& tile, Slab* slab, int slot, Slot<Key> element) {
    tile.exchange_key(slab->slots(), slot, element.key);
    if constexpr (Slab::kHasCounts) tile.store(slab->slots(), slot, element.count);
  }

  /// Ends a list behind the first slots of a slab. Returns how many slabs were given back.
  WARPMER_HD std::uint32_t cut(const T& tile, Slab* last, int filled) const {
    for (int i = filled; i < kSlots; ++i) put(tile, last, i, {kEmptyKey<Key>, 0});
    std::uint32_t cut = 0;
    SlabAddress address = tile.words().exchange_key(as_slots(&last->next), 0, kNoSlab);
    while (address != kNoSlab) {
      Slab* slab = alloc_.at(address);
      for (int i = 0; i < kSlots; ++i) put(tile, slab, i, {kEmptyKey<Key>, 0});
      const SlabAddress following = tile.words().exchange_key(as_slots(&slab->next), 0, kNoSlab);
      alloc_.free(tile.words(), address);
      address = following;
      cut += 1;
    }
    return cut;
  }

  Slab* bases_;
  BucketOf bucket_of_;
  SlabAlloc<UnitsType> alloc_;
};

}  // namespace warpmer::table
