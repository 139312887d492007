#pragma once
/// The Tile concept: what a probing scheme may ask of the hardware. Schemes are written once against
/// it and instantiated with host tiles here and in tile_avx2.h / tile_avx512.h, and with groups of
/// GPU lanes in kernels/.
///
/// One rule makes it sound: every value that crosses the concept is the same on every lane; only the
/// opaque Bucket may be lane-local. Control flow is then uniform, and a host thread simply is a tile. Two
/// functions make uniform what is not: `ballot` and `from_lane` take a value of each lane (work_sharing.h).

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "kmer/platform.h"

namespace warpmer::table {

/// One bit per slot of a bucket, slot 0 lowest.
using SlotMask = std::uint32_t;

enum class Claim : std::uint8_t {
  won,       ///< the slot was empty and holds the key now
  same_key,  ///< another tile put the same key there first
  lost,      ///< another tile put another key there first
};

/// Marks an empty slot. A scheme never stores this key; its owner counts it beside the table.
template <class Key>
inline constexpr Key kEmptyKey = ~Key{0};

/// Marks a slot whose key was erased while keys behind it may be looked for across it. A table that is
/// erased from never stores this key either.
template <class Key>
inline constexpr Key kTombstoneKey = kEmptyKey<Key> - 1;

/// A key with its count, in a slot or on its way to one.
template <class Key>
struct Slot {
  Key key;
  std::uint32_t count;
};

/// Slots as a structure of arrays, or the part of it that starts at some slot. Keys of 32 bits lie otherwise
/// (table/word_slots.h).
template <class KeyType>
struct Slots {
  using Key = KeyType;
  static constexpr bool kOneWord = false;  ///< key and count change together, in one instruction
  static constexpr std::size_t kBytes = sizeof(Key) + sizeof(std::uint32_t);  ///< bytes of a slot

  Key* keys;
  std::uint32_t* counts;

  /// `size` slots in memory of size * kBytes bytes, aligned for keys.
  WARPMER_HD static Slots in(void* memory, std::size_t size) {
    const auto first = static_cast<Key*>(memory);
    return {first, reinterpret_cast<std::uint32_t*>(first + size)};
  }
  WARPMER_HD Slots at(std::size_t slot) const { return {keys + slot, counts + slot}; }
  /// Returns a group of `Width` slots.
  template <int Width>
  WARPMER_HD Slots group(std::uint32_t number) const {
    return at(std::size_t{number} * Width);
  }
  // While no other tile writes to the slot.
  [[nodiscard]] WARPMER_HD Slot<Key> read(std::size_t slot) const { return {keys[slot], counts[slot]}; }
  WARPMER_HD void write(std::size_t slot, Slot<Key> in) const {
    keys[slot] = in.key;
    counts[slot] = in.count;
  }
};

template <class T>
concept Tile = requires(const T t, typename T::Bucket b, Slots<typename T::Key> s, typename T::Key k, int i) {
  { T::kWidth } -> std::convertible_to<int>;       // slots in one bucket, at most 32
  { T::kExclusive } -> std::convertible_to<bool>;  // no other tile writes to the table
  { t.load(s) } -> std::same_as<typename T::Bucket>;
  { t.match(b, k) } -> std::same_as<SlotMask>;  // slots that hold k
  { t.empty(b) } -> std::same_as<SlotMask>;
  { t.count(b, s, i) } -> std::same_as<std::uint32_t>;  // in slot i of the bucket b, loaded from s
  { t.claim(s, i, k) } -> std::same_as<Claim>;          // of an empty slot
  { t.claim(s, i, k, k) } -> std::same_as<Claim>;       // of a slot that holds the last argument
  {
    t.exchange(s, i, Slot<typename T::Key>{})
    } -> std::same_as<Slot<typename T::Key>>;                    // returns the evicted
  { t.exchange_key(s, i, k) } -> std::same_as<typename T::Key>;  // leaves the count where it is
  { t.add(s, i, 1u) } -> std::same_as<std::uint32_t>;            // one lane acts; the count before
  { t.store(s, i, 1u) } -> std::same_as<void>;                   // the count, over whatever it was
  // For an empty slot, for a key with its count at once.
  requires(!Slots<typename T::Key>::kOneWord || requires {
    { t.claim_whole(s, i, Slot<typename T::Key>{}) } -> std::same_as<Claim>;
  });
};

/// Claims empty slot `i` for a key, and where key and count are one word for its count, too. Won, such a slot
/// has been counted (`kOneWord`); else the count is still to be added.
template <Tile T>
WARPMER_HD Claim claim_for(const T& tile, Slots<typename T::Key> s, int i, Slot<typename T::Key> in) {
  if constexpr (Slots<typename T::Key>::kOneWord) {
    return tile.claim_whole(s, i, in);
  } else {
    return tile.claim(s, i, in.key);
  }
}

/// The operations that lists of slabs ask of a tile besides (slab_hash.h).
template <class T>
concept SlabTile = Tile<T> &&
    requires(const T t, typename T::Bucket b, Slots<typename T::Key> s, typename T::Key k, int i) {
  { t.match(b, k, k) } -> std::same_as<SlotMask>;  // slots that agree with k in the bits of the last argument
  { t.key_in(b, i) } -> std::same_as<typename T::Key>;  // what was in a slot when the bucket was loaded
  { t.count(s, i) } -> std::same_as<std::uint32_t>;     // the count as it is now
  { t.words() } -> std::same_as<typename T::Words>;     // the same lanes, as a tile of 32 words of 32 bits
  { t.lane() } -> std::same_as<int>;                    // of the caller, within the tile: not uniform
  { t.ballot(true) } -> std::same_as<SlotMask>;         // a bit for each lane
  { t.from_lane(i, i) } -> std::same_as<int>;           // the value that one lane has
};

/// A word of 32 bits as a tile's key: bitmaps, addresses, keys without values. Signed, because slots of
/// unsigned keys of 32 bits are one word with their counts (word_slots.h); in memory it may stand for an
/// unsigned one.
using PlainWord = std::int32_t;

/// Returns words of 32 bits as slots, for what tiles do to slots' keys, counts left alone.
WARPMER_HD Slots<PlainWord> as_slots(std::uint32_t* words) {
  return {reinterpret_cast<PlainWord*>(words), nullptr};
}
/// Returns words of 32 bits as counts.
WARPMER_HD Slots<PlainWord> as_counts(std::uint32_t* words) { return {nullptr, words}; }

/// Returns the number of the lowest slot in a mask that is not zero.
WARPMER_HD constexpr int first_slot(SlotMask mask) {
#if defined(__CUDA_ARCH__)
  return __ffs(static_cast<int>(mask)) - 1;
#else
  return std::countr_zero(mask);
#endif
}

/// Returns the number of slots that a mask names.
WARPMER_HD constexpr int slots_in(SlotMask mask) {
#if defined(__CUDA_ARCH__)
  return __popc(mask);
#else
  return std::popcount(mask);
#endif
}

/// The portable host tile for a table that one thread owns: a bucket is looked at where it lies.
template <class KeyType, int Width>
struct SerialTile {
  using Key = KeyType;
  using Bucket = const Key*;
  using Words = SerialTile<PlainWord, 32>;
  static constexpr int kWidth = Width;
  static constexpr bool kExclusive = true;

  WARPMER_HD Bucket load(Slots<Key> s) const { return s.keys; }
  WARPMER_HD SlotMask match(Bucket b, Key key) const {
    SlotMask mask = 0;
    for (int i = 0; i < Width; ++i) mask |= SlotMask{b[i] == key} << i;
    return mask;
  }
  WARPMER_HD SlotMask match(Bucket b, Key key, Key bits) const {
    SlotMask mask = 0;
    for (int i = 0; i < Width; ++i) mask |= SlotMask{((b[i] ^ key) & bits) == 0} << i;
    return mask;
  }
  WARPMER_HD SlotMask empty(Bucket b) const { return match(b, kEmptyKey<Key>); }
  template <class AnyBucket>  // also of tiles that load buckets otherwise
  WARPMER_HD std::uint32_t count(const AnyBucket& /*b*/, Slots<Key> s, int i) const {
    return s.counts[i];
  }
  WARPMER_HD Key key_in(Bucket b, int i) const { return b[i]; }
  WARPMER_HD Claim claim(Slots<Key> s, int i, Key key, Key /*over*/ = kEmptyKey<Key>) const {
    s.keys[i] = key;
    return Claim::won;
  }
  WARPMER_HD Slot<Key> exchange(Slots<Key> s, int i, Slot<Key> in) const {
    const Slot<Key> out{s.keys[i], s.counts[i]};
    s.keys[i] = in.key;
    s.counts[i] = in.count;
    return out;
  }
  WARPMER_HD Key exchange_key(Slots<Key> s, int i, Key in) const {
    const Key out = s.keys[i];
    s.keys[i] = in;
    return out;
  }
  WARPMER_HD std::uint32_t add(Slots<Key> s, int i, std::uint32_t n) const {
    const std::uint32_t before = s.counts[i];
    s.counts[i] = before + n;
    return before;
  }
  WARPMER_HD void store(Slots<Key> s, int i, std::uint32_t n) const { s.counts[i] = n; }
  WARPMER_HD std::uint32_t count(Slots<Key> s, int i) const { return s.counts[i]; }
  WARPMER_HD Words words() const { return {}; }
  WARPMER_HD int lane() const { return 0; }
  WARPMER_HD SlotMask ballot(bool mine) const { return SlotMask{mine}; }
  template <class Value>
  WARPMER_HD Value from_lane(const Value& mine, int /*lane*/) const {
    return mine;
  }
};

}  // namespace warpmer::table
