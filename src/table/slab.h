#pragma once
/// What a slab holds: 128 bytes, of which 120 are for elements; then a word that nothing uses yet and the
/// address of the next slab, which are lanes 30 and 31 in the paper (Ashkiani et al. 2018, section IV-B).
///
///     pairs of a 32-bit key and a 32-bit value, in one word       15     the paper's
///     32-bit keys                                                 30     the paper's
///     64-bit keys with 32-bit counts, as arrays side by side      10     k-mers up to k = 32
///     128-bit keys with 32-bit counts, as arrays side by side      6     k-mers up to k = 64

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/kmer.h"
#include "core/platform.h"
#include "table/slab_alloc.h"
#include "table/tile.h"

namespace warpmer::table {

inline constexpr std::size_t kElementBytes = 120;

/// Keys with counts beside them.
template <class KeyType>
struct alignas(kSlabBytes) CountSlab {
  using Key = KeyType;
  static constexpr bool kHasCounts = true;
  static constexpr int kSlots = kElementBytes / (sizeof(Key) + sizeof(std::uint32_t));

  Key keys[kSlots];
  std::uint32_t counts[kSlots];
  std::uint32_t auxiliary;
  SlabAddress next;

  WARPMER_HD Slots<Key> slots() { return {keys, counts}; }
};

/// Elements that are one word each: what a tile claims and exchanges as a key is the whole element.
template <class Element>
struct alignas(kSlabBytes) ElementSlab {
  using Key = Element;
  static constexpr bool kHasCounts = false;
  static constexpr int kSlots = kElementBytes / sizeof(Element);

  Element elements[kSlots];
  std::uint32_t auxiliary;
  SlabAddress next;

  WARPMER_HD Slots<Element> slots() { return {elements, nullptr}; }
};

static_assert(sizeof(CountSlab<std::uint64_t>) == kSlabBytes && CountSlab<std::uint64_t>::kSlots == 10);
static_assert(sizeof(CountSlab<Key128>) == kSlabBytes && CountSlab<Key128>::kSlots == 6);
static_assert(sizeof(ElementSlab<std::uint64_t>) == kSlabBytes && ElementSlab<std::uint64_t>::kSlots == 15);
static_assert(sizeof(ElementSlab<PlainWord>) == kSlabBytes && ElementSlab<PlainWord>::kSlots == 30);

/// A slab without elements and without a successor, which is what every base slab and every free unit holds.
template <class Slab>
WARPMER_HD void make_empty(Slab& slab) {
  const auto slots = slab.slots();
  for (int i = 0; i < Slab::kSlots; ++i) {
    slots.keys[i] = kEmptyKey<typename Slab::Key>;
    if constexpr (Slab::kHasCounts) slots.counts[i] = 0;
  }
  slab.auxiliary = 0;
  slab.next = kNoSlab;
}

/// The bucket of a key: any of `buckets`, all equally likely, by a seeded hash.
template <class Key>
class HashedBucket {
 public:
  WARPMER_HD HashedBucket(std::uint32_t buckets, std::uint32_t seed) : buckets_(buckets), family_(seed) {}
  [[nodiscard]] WARPMER_HD std::uint32_t buckets() const { return buckets_; }
  [[nodiscard]] WARPMER_HD std::uint32_t operator()(Key key) const {
    return scale(HashFamily<Mixed>::hash(family_.mix(key), 0), buckets_);
  }

 private:
  using Mixed = std::conditional_t<sizeof(Key) == sizeof(std::uint32_t), std::uint64_t, Key>;
  std::uint32_t buckets_;
  HashFamily<Mixed> family_;
};

/// For keys that are hashes already (core/hash.h): buckets in order hold keys in order.
template <class Key>
class OrderedBucket {
 public:
  /// Keys are below 2^key_bits.
  WARPMER_HD OrderedBucket(std::uint32_t buckets, std::uint32_t key_bits)
      : buckets_(buckets), key_bits_(key_bits) {}
  [[nodiscard]] WARPMER_HD std::uint32_t buckets() const { return buckets_; }
  [[nodiscard]] WARPMER_HD std::uint32_t operator()(Key key) const {
    const auto top = key_bits_ > 32 ? static_cast<std::uint32_t>(key >> (key_bits_ - 32))
                                    : static_cast<std::uint32_t>(key) << (32 - key_bits_);
    return scale(top, buckets_);
  }

 private:
  std::uint32_t buckets_;
  std::uint32_t key_bits_;
};

}  // namespace warpmer::table
