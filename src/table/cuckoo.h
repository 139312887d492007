#pragma once
/// Bucketed cuckoo hashing (Awad et al. 2023, sections 3.1 and 5.2): a key lies in one of few buckets, each
/// named by a hash function; a key that finds a bucket full takes the place of a random key there, which
/// moves on to its next bucket. Lookups read few buckets, whatever the load. A bucket is what a tile looks
/// at:
///
///     BCHT            Cuckoo<tile of 16 slots, 3>     load up to 0.98
///     as in Mega-KV   Cuckoo<tile of 8 slots, 2>
///     1CHT            Cuckoo<tile of 1 slot, 4>       load up to 0.88
///
/// The paper evicts at once. A key can also look for room in all of its buckets before it takes a place
/// (Eviction::last): then fewer keys move, which GPUs pay for with atomic exchanges, and lookups look at
/// more buckets.
///
/// A key whose chain of evictions reaches its end goes to a stash (table/stash.h). When that is full, too,
/// the build has failed: the owner starts again with another seed (table/rebuild.h), or keeps the key that is
/// left over beside the table.
///
/// **Counting.** Key and count are two words, and a key that is being moved is in no bucket. On a tile that
/// owns its table no other can notice: `insert` counts at once. Tiles that share a table take two passes over
/// the keys, with a barrier between: `place` puts keys in, their counts stay 0; `add` counts, when nothing
/// moves any more. This is exact for any keys, however often they come and whichever tile brings them: tiles
/// that placed the same key at the same moment may have put in a spare copy of it, but `find` always comes to
/// the same copy first, and only that one is counted. A slot whose count is 0 after the second pass holds a
/// spare. With keys of which each is brought once there are none.
///
/// Where key and count are one word (table/word_slots.h) they move together, and tiles that share a table may
/// bring keys with their counts at once, each key once (`insert_distinct`).
///
/// Invariant, for lookups to stop early: a bucket that has been full stays full, and a key lies behind none
/// of its buckets that is not full, in the stash only if all are.

#include <cstdint>

#include "table/hashed_buckets.h"
#include "table/insertion.h"
#include "table/tile.h"

namespace warpmer::table {

/// Says when a key takes the place of another: when the bucket it has come to is full, or when all of its
/// buckets are.
enum class Eviction { at_once, last };

template <Tile T, int Hashes, Eviction kEviction = Eviction::at_once>
class Cuckoo : public InHashedBuckets<Cuckoo<T, Hashes, kEviction>, T> {
  using Base = InHashedBuckets<Cuckoo, T>;
  friend Base;

 public:
  using Key = typename T::Key;
  using Base::kBucket;
  static constexpr int kHashes = Hashes;
  static_assert(kHashes >= 2 && kHashes <= HashFamily<Key>::kFunctions);
  /// A key that is moved takes its count along.
  static constexpr bool kMovesCounts = T::kExclusive || Slots<Key>::kOneWord;

  /// `slots`: slots_for(buckets) of them, all empty at first, with counts of 0; buckets at least 1.
  WARPMER_HD Cuckoo(Slots<Key> slots, std::uint32_t buckets, std::uint32_t seed)
      : Base(slots, buckets, seed), max_evictions_(max_evictions(buckets)) {}

  /// Adds `n` to the key's count. `key` is not kEmptyKey.
  WARPMER_HD Displacement<Key> insert(const T& tile, Key key, std::uint32_t n) const {
    static_assert(T::kExclusive, "tiles that share a table place first and add later");
    const TakenSlot taken = find_or_claim(tile, key);
    if (taken.slot < 0) return settle(tile, {key, n});
    return {buckets_.count(tile, taken.slot, taken.is_new, n), {}};
  }

  /// `insert` of a key that is certainly not there: without looking for it, as the paper builds.
  WARPMER_HD Displacement<Key> insert_distinct(const T& tile, Key key, std::uint32_t n) const {
    static_assert(kMovesCounts, "tiles that share a table of two arrays place first and add later");
    return settle(tile, {key, n});
  }

  /// Puts the key in; counts stay as they are. New: a copy was put in, though other tiles may have
  /// put in another at the same time. The count of the key that is left over means nothing.
  WARPMER_HD Displacement<Key> place(const T& tile, Key key) const {
    const TakenSlot taken = find_or_claim(tile, key);
    if (taken.slot < 0) return settle(tile, {key, 0});
    return {{true, taken.is_new, false}, {}};
  }

 private:
  using Base::buckets_;

  /// Beside tiles that place keys it may miss one that is being moved.
  template <bool kWithCount>
  [[nodiscard]] WARPMER_HD Found search(const T& tile, Key key) const {
    const std::uint64_t mixed = buckets_.mix(key);
    for (int i = 0; i < kHashes; ++i) {
      const std::uint32_t number = buckets_.number(mixed, i);
      const Slots<Key> s = buckets_.bucket(number);
      const auto loaded = tile.load(s);
      const SlotMask same = tile.match(loaded, key);
      if (same != 0) {
        const int slot = first_slot(same);
        return {buckets_.slot_in(number, slot), kWithCount ? tile.count(loaded, s, slot) : 0};
      }
      if (tile.empty(loaded) != 0) return {-1, 0};
    }
    return buckets_.template search_stash<kWithCount>(tile, key);
  }

  /// Returns how long a chain may get: it grows with the logarithm of the table. (The papers have a bound and
  /// do not name it. 8 for each bit of the number of slots lets tables be filled as far as the papers fill
  /// theirs, buckets of one slot being what needs most.)
  [[nodiscard]] WARPMER_HD static std::uint32_t max_evictions(std::uint32_t buckets) {
    std::uint32_t bits = 1;
    for (std::uint64_t slots = std::uint64_t{buckets} * kBucket; slots > 1; slots /= 2) ++bits;
    return 8 * bits;
  }

  /// Finds the key's slot; when it has none, the first that is free in its buckets.
  [[nodiscard]] WARPMER_HD TakenSlot find_or_claim(const T& tile, Key key) const {
    const std::uint64_t mixed = buckets_.mix(key);
    for (int i = 0; i < kHashes; ++i) {
      const std::uint32_t number = buckets_.number(mixed, i);
      for (;;) {
        const auto loaded = tile.load(buckets_.bucket(number));
        const SlotMask same = tile.match(loaded, key);
        const SlotMask empty = tile.empty(loaded);
        if (same != 0) return {buckets_.slot_in(number, first_slot(same)), false};
        if (empty == 0) break;
        const int slot = first_slot(empty);
        const Claim claim = tile.claim(buckets_.bucket(number), slot, key);
        if (claim != Claim::lost) return {buckets_.slot_in(number, slot), claim == Claim::won};
      }
    }
    return {buckets_.find_stowed(tile, key), false};
  }

  /// Puts a key into a bucket; false: it is full.
  [[nodiscard]] WARPMER_HD bool fill(const T& tile, std::uint32_t number, Slot<Key> in) const {
    for (;;) {
      const SlotMask empty = tile.empty(tile.load(buckets_.bucket(number)));
      if (empty == 0) return false;
      const int slot = first_slot(empty);
      if (claim_for(tile, buckets_.bucket(number), slot, in) == Claim::lost) continue;
      if constexpr (T::kExclusive) tile.store(buckets_.bucket(number), slot, in.count);
      return true;
    }
  }

  [[nodiscard]] WARPMER_HD Slot<Key> evict(const T& tile, std::uint32_t number, int slot,
                                           Slot<Key> in) const {
    if constexpr (kMovesCounts) {
      return tile.exchange(buckets_.bucket(number), slot, in);
    } else {
      return {tile.exchange_key(buckets_.bucket(number), slot, in.key), 0};
    }
  }

  /// Returns the bucket that a key goes to that was evicted from a bucket: the next of its buckets, in the
  /// order of its functions, round and round, that is another one. When several functions name the bucket it
  /// comes from, the first of them counts, as in the paper; any other could skip a bucket that is not full.
  [[nodiscard]] WARPMER_HD std::uint32_t following(Key key, std::uint32_t number) const {
    const std::uint64_t mixed = buckets_.mix(key);
    int from = 0;
    while (from + 1 < kHashes && buckets_.number(mixed, from) != number) ++from;
    for (int step = 1; step < kHashes; ++step) {
      const std::uint32_t next = buckets_.number(mixed, (from + step) % kHashes);
      if (next != number) return next;
    }
    return number;
  }

  /// Finds a place for a key that is in none of its buckets, at the cost of others: a random walk.
  [[nodiscard]] WARPMER_HD Displacement<Key> settle(const T& tile, Slot<Key> hand) const {
    std::uint64_t random = buckets_.mix(hand.key);
    std::uint32_t number = buckets_.number(random, 0);
    bool is_evicted = false;  // from the bucket `number`
    for (std::uint32_t evictions = 0; evictions < max_evictions_; ++evictions) {
      // Knuth's linear congruential generator; its high bits are the good ones.
      const std::uint64_t next = random * 0x5851F42D4C957F2Du + 0x14057B7EF767814Fu;
      if constexpr (kEviction == Eviction::at_once) {
        if (is_evicted) number = following(hand.key, number);
        if (fill(tile, number, hand)) return {{true, true, false}, {}};
      } else {
        if (fill_any(tile, hand, is_evicted ? number : kNoBucket)) return {{true, true, false}, {}};
        number =
            any_bucket(hand.key, static_cast<std::uint32_t>(next >> 48), is_evicted ? number : kNoBucket);
      }
      random = next;
      const auto victim = static_cast<int>((random >> 32) * kBucket >> 32);
      hand = evict(tile, number, victim, hand);
      is_evicted = true;
    }
    return stow(tile, hand);
  }

  static constexpr std::uint32_t kNoBucket = UINT32_MAX;
  /// Puts a key into the first of its buckets that has room; `full` is known to have none.
  [[nodiscard]] WARPMER_HD bool fill_any(const T& tile, Slot<Key> in, std::uint32_t full) const {
    const std::uint64_t mixed = buckets_.mix(in.key);
    for (int i = 0; i < kHashes; ++i) {
      const std::uint32_t number = buckets_.number(mixed, i);
      if (number != full && fill(tile, number, in)) return true;
    }
    return false;
  }
  /// Returns one of a key's buckets, another than `not_this` where it has others.
  [[nodiscard]] WARPMER_HD std::uint32_t any_bucket(Key key, std::uint32_t random,
                                                    std::uint32_t not_this) const {
    const std::uint64_t mixed = buckets_.mix(key);
    const int first = static_cast<int>(random % kHashes);
    for (int step = 0; step < kHashes; ++step) {
      const std::uint32_t number = buckets_.number(mixed, (first + step) % kHashes);
      if (number != not_this) return number;
    }
    return not_this;
  }

  /// Ends a chain. A key may be in the stash only when all its buckets are full.
  [[nodiscard]] WARPMER_HD Displacement<Key> stow(const T& tile, Slot<Key> hand) const {
    if (fill_any(tile, hand, kNoBucket)) return {{true, true, false}, {}};
    const Insertion done = buckets_.stow(tile, hand.key, hand.count);
    if (done.placed) return {{true, true, false}, {}};
    return {{false, true, false}, hand};
  }

  std::uint32_t max_evictions_;
};

}  // namespace warpmer::table
