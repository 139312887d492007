#pragma once
/// The buckets that the cuckoo and the iceberg scheme lie in: of as many slots as a tile looks at, any number
/// of them, which a family of hash functions names; and a stash behind (table/stash.h). And what these
/// schemes have in common.

#include <cstddef>
#include <cstdint>

#include "kmer/platform.h"
#include "table/hash_family.h"
#include "table/insertion.h"
#include "table/stash.h"
#include "table/tile.h"

namespace warpmer::table {

template <Tile T>
class HashedBuckets {
 public:
  using Key = typename T::Key;
  static constexpr int kBucket = T::kWidth;  ///< slots in a bucket

  /// Returns the number of slots that so many buckets and a stash need.
  [[nodiscard]] WARPMER_HD static constexpr std::size_t slots_for(std::uint32_t buckets) {
    return std::size_t{buckets} * kBucket + kStashSlots;
  }

  /// `slots`: slots_for(buckets) of them, all empty at first, with counts of 0; buckets at least 1.
  WARPMER_HD HashedBuckets(Slots<Key> slots, std::uint32_t buckets, std::uint32_t seed)
      : slots_(slots),
        buckets_(buckets),
        family_(seed),
        stash_(stash_in<T>(slots.at(std::size_t{buckets} * kBucket), seed)) {}

  [[nodiscard]] WARPMER_HD std::uint32_t buckets() const { return buckets_; }
  /// Returns what `number` takes: it is computed once for each key.
  [[nodiscard]] WARPMER_HD std::uint64_t mix(Key key) const { return family_.mix(key); }
  /// Returns the bucket that a function of the family names.
  [[nodiscard]] WARPMER_HD std::uint32_t number(std::uint64_t mixed, int function) const {
    return scale(HashFamily<Key>::hash(mixed, function), buckets_);
  }
  [[nodiscard]] WARPMER_HD Slots<Key> bucket(std::uint32_t number) const {
    return slots_.at(std::size_t{number} * kBucket);
  }
  /// Returns a slot of the whole table, by the bucket it lies in.
  [[nodiscard]] WARPMER_HD static std::ptrdiff_t slot_in(std::uint32_t number, int slot) {
    return static_cast<std::ptrdiff_t>(number) * kBucket + slot;
  }
  [[nodiscard]] WARPMER_HD Slots<Key> at(std::ptrdiff_t slot) const {
    return slots_.at(static_cast<std::size_t>(slot));
  }

  WARPMER_HD Insertion stow(const T& tile, Key key, std::uint32_t n) const {
    return stash_.insert(tile, key, n);
  }
  /// Returns the slot of the whole table where the stash holds the key, or -1.
  [[nodiscard]] WARPMER_HD std::ptrdiff_t find_stowed(const T& tile, Key key) const {
    return search_stash<false>(tile, key).slot;
  }
  template <bool kWithCount>
  [[nodiscard]] WARPMER_HD Found search_stash(const T& tile, Key key) const {
    Found found{-1, 0};
    if (!has_stash_) return found;
    if constexpr (kWithCount) {
      found = stash_.find_with_count(tile, key);
    } else {
      found.slot = stash_.find(tile, key);
    }
    if (found.slot >= 0) found.slot += slot_in(buckets_, 0);
    return found;
  }
  /// Lookups do without it from now on.
  WARPMER_HD void forget_stash() { has_stash_ = false; }
  /// Adds `n` to the count in a slot, and tells what became of the key: nothing, when the slot is -1.
  WARPMER_HD Insertion count(const T& tile, std::ptrdiff_t slot, bool is_new, std::uint32_t n) const {
    if (slot < 0) return {false, false, false};
    const std::uint32_t before = tile.add(at(slot), 0, n);
    return {true, is_new, before + n < before};
  }

 private:
  Slots<Key> slots_;
  std::uint32_t buckets_;
  HashFamily<Key> family_;
  Stash<T> stash_;
  bool has_stash_ = true;
};

/// The base of a scheme in such buckets. The scheme has, for this class to use,
///
///     template <bool kWithCount>
///     Found search(const T& tile, Key key) const;   // stash slots after those of all buckets
template <class Scheme, Tile T>
class InHashedBuckets {
 public:
  using Key = typename T::Key;
  static constexpr int kBucket = T::kWidth;  ///< slots in a bucket

  /// Returns the number of slots that a table needs: its buckets and its stash.
  [[nodiscard]] WARPMER_HD static constexpr std::size_t slots_for(std::uint32_t buckets) {
    return HashedBuckets<T>::slots_for(buckets);
  }

  /// Adds `n` to the count of a key that was placed. It may not run beside anything that places.
  WARPMER_HD Insertion add(const T& tile, Key key, std::uint32_t n) const {
    return buckets_.count(tile, find(tile, key), false, n);
  }

  /// Returns the slot that holds the key, stash slots after those of all buckets, or -1.
  [[nodiscard]] WARPMER_HD std::ptrdiff_t find(const T& tile, Key key) const {
    return scheme().template search<false>(tile, key).slot;
  }
  /// Finds the key with its count.
  [[nodiscard]] WARPMER_HD Found find_with_count(const T& tile, Key key) const {
    return scheme().template search<true>(tile, key);
  }

  /// Returns the same table for lookups that do not visit the stash: for a finished table whose stash is
  /// empty.
  [[nodiscard]] WARPMER_HD Scheme without_stash() const {
    Scheme other(scheme());
    static_cast<InHashedBuckets&>(other).buckets_.forget_stash();
    return other;
  }

  /// Returns the key's bucket by one of its hash functions.
  [[nodiscard]] WARPMER_HD std::uint32_t bucket_of(Key key, int function) const {
    return buckets_.number(buckets_.mix(key), function);
  }
  [[nodiscard]] WARPMER_HD Slots<Key> bucket(std::uint32_t number) const { return buckets_.bucket(number); }

 protected:
  WARPMER_HD InHashedBuckets(Slots<Key> slots, std::uint32_t buckets, std::uint32_t seed)
      : buckets_(slots, buckets, seed) {}

  HashedBuckets<T> buckets_;

 private:
  [[nodiscard]] WARPMER_HD const Scheme& scheme() const { return static_cast<const Scheme&>(*this); }
};

}  // namespace warpmer::table
