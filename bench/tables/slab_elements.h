#pragma once
/// The slab hash as its paper has it (Ashkiani et al. 2018, sections III-B and IV-C): elements are one word
/// each, a pair of a 32-bit key (the low half) and a 32-bit value, or a 32-bit key alone, and change as a
/// whole. A key may be there several times, by `insert`; `replace` keeps it unique.
///
/// All operations may run side by side, of any keys. Each but the two that concern all elements of a key acts
/// at one moment, at which its answer holds: the change of its word, the reading of the word it found, or the
/// moment when the end of the list was seen empty. `erase_all` is as many erasures, and a moment, the last,
/// at which no element of the key was there. `find_all` visits every element that was there from beginning to
/// end and none that was not there at some moment between. Two things make this so: erased elements leave
/// tombstones, which are never written over until `flush` (the paper lets `insert` do it when keys need not
/// be unique; then a key could come into a slot behind a tile that is looking for it), and an element is
/// erased by compare and swap (the paper stores a mark, so that two tiles may both believe that they erased
/// it).

#include <cstdint>

#include "kmer/platform.h"
#include "table/insertion.h"
#include "table/slab.h"
#include "table/slab_lists.h"
#include "table/tile.h"

namespace warpmer::bench {

/// Elements that are one word each: what a tile claims and exchanges as a key is the whole element. A slab
/// has 15 pairs, or 30 keys.
template <class Element>
struct alignas(table::kSlabBytes) ElementSlab {
  using Key = Element;
  static constexpr bool kHasCounts = false;
  static constexpr int kSlots = table::kElementBytes / sizeof(Element);

  Element elements[kSlots];
  std::uint32_t auxiliary;
  table::SlabAddress next;

  WARPMER_HD table::Slots<Element> slots() { return {elements, nullptr}; }
};

static_assert(sizeof(ElementSlab<std::uint64_t>) == table::kSlabBytes &&
              ElementSlab<std::uint64_t>::kSlots == 15);
static_assert(sizeof(ElementSlab<table::PlainWord>) == table::kSlabBytes &&
              ElementSlab<table::PlainWord>::kSlots == 30);

template <table::SlabTile T, class UnitsType, class BucketOf>
class SlabElements {
 public:
  using Lists = table::SlabLists<T, UnitsType, BucketOf>;
  using Slab = typename Lists::Slab;
  using Element = typename T::Key;
  static_assert(!Slab::kHasCounts && (sizeof(Element) == 4 || sizeof(Element) == 8));
  /// The part of an element that is its key: its low 32 bits. The two largest keys are reserved.
  static constexpr Element kKeyBits = static_cast<Element>(0xFFFFFFFFu);

  /// Takes the same as SlabLists; buckets are chosen by keys of 32 bits.
  WARPMER_HD SlabElements(Slab* bases, BucketOf bucket_of, table::SlabAlloc<UnitsType> alloc)
      : lists_(bases, bucket_of, alloc), alloc_(alloc) {}

  /// Makes the state for operations that may need a slab; one for each tile at work, with a number of its
  /// own.
  [[nodiscard]] WARPMER_HD table::ResidentBlock resident(const T& tile, std::uint32_t worker) const {
    return alloc_.resident(tile.words(), worker);
  }

  [[nodiscard]] WARPMER_HD static Element pair(std::uint32_t key, std::uint32_t value) {
    static_assert(sizeof(Element) == 8);
    return (Element{value} << 32) | key;
  }
  [[nodiscard]] WARPMER_HD static std::uint32_t key_of(Element element) {
    return static_cast<std::uint32_t>(element);
  }

  /// An element that was found, or that was replaced or erased.
  struct FoundElement {
    bool found;
    Element element;
  };

  /// Puts an element in, behind those of the same key that are there. False: out of units.
  WARPMER_HD bool insert(const T& tile, table::ResidentBlock& resident, Element element) const {
    for (Slab* slab = base_of(element); slab != nullptr; slab = lists_.next_or_new(tile, resident, slab)) {
      for (;;) {
        const table::SlotMask empty = tile.empty(tile.load(slab->slots())) & Lists::kElements;
        if (empty == 0) break;
        // An equal element that another tile has put there is not this one.
        if (tile.claim(slab->slots(), table::first_slot(empty), element) == table::Claim::won) return true;
      }
    }
    return false;
  }

  struct ReplaceResult {
    bool placed;       ///< false: out of units
    FoundElement old;  ///< the element it took the place of
  };
  /// Puts an element in the place of the first with the same key, or else behind all others.
  WARPMER_HD ReplaceResult replace(const T& tile, table::ResidentBlock& resident, Element element) const {
    for (Slab* slab = base_of(element); slab != nullptr; slab = lists_.next_or_new(tile, resident, slab)) {
      for (;;) {
        const auto loaded = tile.load(slab->slots());
        const table::SlotMask same = tile.match(loaded, element, kKeyBits) & Lists::kElements;
        const table::SlotMask empty = tile.empty(loaded) & Lists::kElements;
        if ((same | empty) == 0) break;
        const int slot = table::first_slot(same != 0 ? same : empty);
        const Element over = tile.key_in(loaded, slot);
        // To write over an equal element is to do nothing, and that counts as done.
        const table::Claim claim = tile.claim(slab->slots(), slot, element, over);
        if (claim == table::Claim::won) return {true, {same != 0, over}};
        if (claim == table::Claim::same_key) return {true, {true, element}};
      }
    }
    return {false, {false, Element{}}};
  }

  /// Returns the first element with this key.
  [[nodiscard]] WARPMER_HD FoundElement find(const T& tile, std::uint32_t key) const {
    for (Slab* slab = base_of(key); slab != nullptr; slab = lists_.next(tile, slab)) {
      const auto loaded = tile.load(slab->slots());
      const table::SlotMask same = tile.match(loaded, key, kKeyBits) & Lists::kElements;
      const table::SlotMask empty = tile.empty(loaded) & Lists::kElements;
      if (same != 0) return {true, tile.key_in(loaded, table::first_slot(same))};
      if (empty != 0) break;
    }
    return {false, Element{}};
  }

  /// Calls `visit(element)` for every element with this key, first to last; returns how many there were.
  template <class Visit>
  WARPMER_HD std::uint32_t find_all(const T& tile, std::uint32_t key, Visit&& visit) const {
    std::uint32_t found = 0;
    for (Slab* slab = base_of(key); slab != nullptr; slab = lists_.next(tile, slab)) {
      const auto loaded = tile.load(slab->slots());
      const table::SlotMask empty = tile.empty(loaded) & Lists::kElements;
      for (table::SlotMask same = tile.match(loaded, key, kKeyBits) & Lists::kElements; same != 0;
           same &= same - 1) {
        visit(tile.key_in(loaded, table::first_slot(same)));
        found += 1;
      }
      if (empty != 0) break;
    }
    return found;
  }

  /// Takes out the first element with this key.
  WARPMER_HD FoundElement erase(const T& tile, std::uint32_t key) const {
    FoundElement erased{false, Element{}};
    erase_up_to(tile, key, 1, erased);
    return erased;
  }
  /// Takes out all elements with this key; returns how many there were.
  WARPMER_HD std::uint32_t erase_all(const T& tile, std::uint32_t key) const {
    FoundElement last{false, Element{}};
    return erase_up_to(tile, key, ~0u, last);
  }

  [[nodiscard]] WARPMER_HD std::uint32_t buckets() const { return lists_.buckets(); }
  /// Slabs of a bucket.
  [[nodiscard]] WARPMER_HD std::uint32_t length(const T& tile, std::uint32_t bucket) const {
    return lists_.length(tile, bucket);
  }
  /// Calls `visit(Slot<Element>)` for every element of a bucket. No other tile may work on it.
  template <class Visit>
  WARPMER_HD void for_each(const T& tile, std::uint32_t bucket, Visit&& visit) const {
    lists_.for_each(tile, bucket, visit);
  }
  /// Drops tombstones and gives slabs back: see SlabLists.
  WARPMER_HD typename Lists::Flushed flush(const T& tile, std::uint32_t bucket) const {
    return lists_.flush(tile, bucket);
  }

 private:
  [[nodiscard]] WARPMER_HD Slab* base_of(Element element) const { return lists_.base_of(key_of(element)); }

  /// Returns how many were erased, and the last of them.
  WARPMER_HD std::uint32_t erase_up_to(const T& tile, std::uint32_t key, std::uint32_t most,
                                       FoundElement& last) const {
    std::uint32_t erased = 0;
    for (Slab* slab = base_of(key); slab != nullptr; slab = lists_.next(tile, slab)) {
      for (;;) {
        const auto loaded = tile.load(slab->slots());
        const table::SlotMask same = tile.match(loaded, key, kKeyBits) & Lists::kElements;
        const table::SlotMask empty = tile.empty(loaded) & Lists::kElements;
        if (same == 0) {
          if (empty != 0) return erased;
          break;
        }
        const int slot = table::first_slot(same);
        const Element there = tile.key_in(loaded, slot);
        // Lost: the element was erased or replaced, so that is looked at again.
        if (tile.claim(slab->slots(), slot, table::kTombstoneKey<Element>, there) != table::Claim::won)
          continue;
        last = {true, there};
        erased += 1;
        if (erased == most) return erased;
      }
    }
    return erased;
  }

  Lists lists_;
  table::SlabAlloc<UnitsType> alloc_;
};

}  // namespace warpmer::bench
