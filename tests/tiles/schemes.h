#pragma once
/// Every scheme as the table suite sees it: its promises, and one function that does any operation.

#include <algorithm>
#include <type_traits>

#include "kmer/platform.h"
#include "table/cuckoo.h"
#include "table/iceberg.h"
#include "table/slab_hash.h"
#include "table/slot_blocks.h"
#include "table/warpdrive.h"
#include "tiles/tile_ops.h"
#include "tiles/unused_slots.h"

namespace warpmer::tests {

template <class Key>
WARPMER_HD Done<Key> done_with(const table::Insertion& one, Key key, std::uint32_t n) {
  Done<Key> done;
  done.placed = one.placed;
  done.is_new = one.is_new;
  done.wrapped = one.wrapped;
  if (!one.placed) done.overflow = {key, n};
  return done;
}

/// Looks a key up in both ways.
template <class T, class Scheme>
WARPMER_HD Done<typename T::Key> look_up(const Scheme& scheme, const T& tile, typename T::Key key) {
  Done<typename T::Key> done;
  done.slot = scheme.find(tile, key);
  const table::Found found = scheme.find_with_count(tile, key);
  done.placed = done.slot >= 0 && found.slot == done.slot;
  done.count = found.count;
  return done;
}

/// Adds to a key's count as live tables do, in the slot that the key takes.
template <class T, class Scheme>
WARPMER_HD table::Insertion insert_over_tombstones(const Scheme& scheme, const T& tile,
                                                   table::Slot<typename T::Key> in) {
  const table::TakenSlot taken = scheme.take(tile, in.key);
  if (taken.slot < 0) return {false, false, false};
  const auto window = scheme.window(static_cast<std::uint32_t>(taken.slot / T::kWidth));
  const std::uint32_t before = tile.add(window, static_cast<int>(taken.slot % T::kWidth), in.count);
  return {true, taken.is_new, before + in.count < before};
}

/// The common part of WarpDrive's cases, with any probing and layout.
template <class T, class SchemeType>
struct WarpDriveCase {
  using Tile = T;
  using Key = typename T::Key;
  using Scheme = SchemeType;

  WARPMER_HD static Done<Key> operate(Operation operation, int /*pass*/, const Scheme& scheme, const T& tile,
                                      table::Slot<Key> in, const Done<Key>& /*before*/) {
    switch (operation) {
      case Operation::insert:
      case Operation::insert_distinct:
        return done_with(scheme.insert(tile, in.key, in.count), in.key, in.count);
      case Operation::insert_over_tombstones:
        return done_with(insert_over_tombstones(scheme, tile, in), in.key, in.count);
      case Operation::replace:
        return done_with(scheme.replace(tile, in.key, in.count), in.key, in.count);
      case Operation::find:
        return look_up(scheme, tile, in.key);
      case Operation::erase:
        break;
    }
    Done<Key> done;
    done.placed = scheme.erase(tile, in.key);
    return done;
  }
};

/// Windows are single groups, in the order of keys.
template <class T>
struct OrderedWarpDrive : WarpDriveCase<T, table::WarpDrive<T>> {
  using Key = typename T::Key;
  using Scheme = table::WarpDrive<T>;
  static constexpr SchemeFacts kFacts{.name = "warpdrive",
                                      .sure_load = T::kWidth < 4 ? 0.5 : 0.8,
                                      .fills_up = true,
                                      .erases = true,
                                      .seeded = false};

  static std::size_t slots(TableShape shape) { return std::size_t{T::kWidth} << shape.bucket_bits; }
  WARPMER_HD static Scheme scheme(table::Slots<Key> slots, TableShape shape) {
    return Scheme(slots, shape.bucket_bits, shape.key_bits);
  }
  static std::uint64_t address(TableShape shape, Key key) { return scheme({}, shape).home(key); }
  static std::size_t reach(TableShape shape, Key) { return slots(shape); }
};

/// Windows have 32 slots, as in the paper.
template <class T>
struct HashedWarpDrive : WarpDriveCase<T, table::WarpDrive<T, table::HashedWindows<T>>> {
  using Key = typename T::Key;
  using Scheme = table::WarpDrive<T, table::HashedWindows<T>>;
  static constexpr SchemeFacts kFacts{.name = "warpdrive, windows of 32",
                                      .sure_load = 0.98,
                                      .fills_up = true,
                                      .erases = true,
                                      .width_is_all_one = true};

  static std::size_t slots(TableShape shape) { return std::size_t{32} << shape.bucket_bits; }
  WARPMER_HD static Scheme scheme(table::Slots<Key> slots, TableShape shape) {
    return Scheme(slots, table::HashedWindows<T>(1u << shape.bucket_bits, shape.seed, shape.max_windows));
  }
  static std::uint64_t address(TableShape shape, Key key) { return scheme({}, shape).home(key); }
  static std::size_t reach(TableShape shape, Key) {
    return 32 * std::size_t{std::min(shape.max_windows, 1u << shape.bucket_bits)};
  }
};

/// Windows start at any group.
template <class T, int kWindowSlots, class Layout>
struct ScatteredCase
    : WarpDriveCase<T, table::WarpDrive<T, table::ScatteredWindows<T, kWindowSlots>, Layout>> {
  using Key = typename T::Key;
  using Probing = table::ScatteredWindows<T, kWindowSlots>;
  using Scheme = table::WarpDrive<T, Probing, Layout>;
  static constexpr bool kInBlocks = !std::is_same_v<Layout, table::Slots<Key>>;
  static constexpr SchemeFacts kFacts{
      .name = kInBlocks ? "warpdrive, blocks" : "warpdrive, scattered windows",
      .sure_load = 0.98,
      .fills_up = true,
      .erases = true,
      .in_blocks = kInBlocks};

  static std::size_t slots(TableShape shape) {
    return ((std::size_t{1} << shape.bucket_bits) - 1) * T::kWidth + kWindowSlots;
  }
  WARPMER_HD static Scheme scheme(table::Slots<Key> slots, TableShape shape) {
    const Probing probing(1u << shape.bucket_bits, shape.seed, shape.max_windows);
    if constexpr (kInBlocks) {
      return Scheme({reinterpret_cast<table::CountBlock<Key>*>(slots.keys)}, probing);
    } else {
      return Scheme(slots, probing);
    }
  }
  static std::uint64_t address(TableShape shape, Key key) { return scheme({}, shape).home(key); }
  static std::size_t reach(TableShape shape, Key) {
    return std::min(slots(shape), kWindowSlots * std::size_t{shape.max_windows});
  }
};

/// Windows have 32 slots.
template <class T>
using ScatteredWarpDrive = ScatteredCase<T, 32, table::Slots<typename T::Key>>;
/// Slots lie in blocks, as in live tables (table/slot_blocks.h), and windows have eight of them.
template <class T>
using BlockWarpDrive = ScatteredCase<T, 8 * T::kWidth, table::SlotBlocks<typename T::Key>>;

/// The common part of schemes whose keys have few buckets, each by a hash function of its own.
template <class SchemeType, int kBuckets>
struct KeyBuckets {
  using Scheme = SchemeType;
  using Key = typename Scheme::Key;

  static std::size_t slots(TableShape shape) { return Scheme::slots_for(1u << shape.bucket_bits); }
  WARPMER_HD static Scheme scheme(table::Slots<Key> slots, TableShape shape) {
    return Scheme(slots, 1u << shape.bucket_bits, shape.seed);
  }
  static std::uint64_t address(TableShape shape, Key key) {
    const UnusedSlots<Key> unused(slots(shape));
    const Scheme built = scheme(unused.slots(), shape);
    std::uint64_t all = 0;
    for (int i = 0; i < kBuckets; ++i) all = (all << 16) | built.bucket_of(key, i);
    return all;
  }
  static std::size_t reach(TableShape shape, Key key) {
    const UnusedSlots<Key> unused(slots(shape));
    const Scheme built = scheme(unused.slots(), shape);
    std::size_t different = 0;
    for (int i = 0; i < kBuckets; ++i) {
      bool is_first = true;
      for (int j = 0; j < i; ++j) is_first = is_first && built.bucket_of(key, i) != built.bucket_of(key, j);
      different += is_first ? 1 : 0;
    }
    return different * Scheme::kBucket + table::kStashSlots;
  }
};

/// Does the second pass of an insertion, when keys have been placed.
template <class T, class Scheme>
WARPMER_HD Done<typename T::Key> count_placed(const Scheme& scheme, const T& tile,
                                              table::Slot<typename T::Key> in, bool is_new) {
  auto done = done_with(scheme.add(tile, in.key, in.count), in.key, in.count);
  done.is_new = is_new;
  return done;
}

template <class T, int Hashes>
struct CuckooBuckets : KeyBuckets<table::Cuckoo<T, Hashes>, Hashes> {
  using Tile = T;
  using Key = typename T::Key;
  using Scheme = table::Cuckoo<T, Hashes>;
  static constexpr SchemeFacts kFacts{.name = Hashes == 2   ? "cuckoo, 2 hashes"
                                              : Hashes == 3 ? "cuckoo, 3 hashes"
                                                            : "cuckoo, 4 hashes",
                                      .passes = T::kExclusive ? 1 : 2,
                                      .stash = table::kStashSlots,
                                      .sure_load = T::kWidth == 1   ? 0.88
                                                   : T::kWidth == 8 ? 0.9
                                                                    : 0.98,
                                      .may_spare = true,
                                      .distinct_at_once = Scheme::kMovesCounts};

  WARPMER_HD static Done<Key> operate(Operation operation, int pass, const Scheme& scheme, const T& tile,
                                      table::Slot<Key> in, const Done<Key>& before) {
    if (operation == Operation::find) return look_up(scheme, tile, in.key);
    if (pass == 1) return count_placed(scheme, tile, in, before.is_new);
    table::Displacement<Key> one;
    if constexpr (Scheme::kMovesCounts) {
      if (operation == Operation::insert_distinct) {
        one = scheme.insert_distinct(tile, in.key, in.count);
        return done_with(one.insertion, one.overflow.key, one.overflow.count);
      }
    }
    if constexpr (T::kExclusive) {
      one = scheme.insert(tile, in.key, in.count);
    } else {
      one = scheme.place(tile, in.key);
    }
    return done_with(one.insertion, one.overflow.key, one.overflow.count);
  }
};

template <class T>
using Bcht = CuckooBuckets<T, 3>;
template <class T>
using MegaKv = CuckooBuckets<T, 2>;
template <class T>
using OneSlotCuckoo = CuckooBuckets<T, 4>;

template <class T>
struct IcebergBuckets : KeyBuckets<table::Iceberg<T>, 3> {
  using Tile = T;
  using Key = typename T::Key;
  using Scheme = table::Iceberg<T>;
  static constexpr SchemeFacts kFacts{.name = "iceberg",
                                      .passes = T::kExclusive ? 1 : 2,
                                      .stash = table::kStashSlots,
                                      .sure_load = T::kWidth == 32 ? 0.9 : 0.8,
                                      .may_spare = true};

  WARPMER_HD static Done<Key> operate(Operation operation, int pass, const Scheme& scheme, const T& tile,
                                      table::Slot<Key> in, const Done<Key>& before) {
    if (operation == Operation::find) return look_up(scheme, tile, in.key);
    if (pass == 1) return count_placed(scheme, tile, in, before.is_new);
    const bool at_once = T::kExclusive || operation == Operation::insert_distinct;
    return done_with(at_once ? scheme.insert(tile, in.key, in.count) : scheme.place(tile, in.key), in.key,
                     in.count);
  }
};

/// The slab hash: it has a base slab for each bucket, and seven more slabs for any bucket that needs one.
/// Base slabs, other slabs, bitmaps and the allocator's state follow one another in memory (slab_memory.h).
template <class T>
struct SlabBuckets {
  using Tile = T;
  using Key = typename T::Key;
  using Slab = table::CountSlab<Key>;
  using Hash = table::SlabHash<T, table::ContiguousUnits<Slab>, table::HashedBucket<Key>>;
  struct Scheme {
    Hash hash;
    Slab* first;
  };
  static constexpr SchemeFacts kFacts{.name = "slab hash", .sure_load = 0.8, .erases = true, .chains = true};
  static constexpr std::uint32_t kUnitsPerBucket = 7;

  static std::size_t slots(TableShape shape) {
    return (std::size_t{Slab::kSlots} * (1 + kUnitsPerBucket)) << shape.bucket_bits;
  }
  WARPMER_HD static table::HashedBucket<Key> bucket_of(TableShape shape) {
    return {1u << shape.bucket_bits, shape.seed};
  }
  WARPMER_HD static Scheme scheme(table::Slots<Key> slots, TableShape shape) {
    const std::uint32_t units = kUnitsPerBucket << shape.bucket_bits;
    auto* bases = reinterpret_cast<Slab*>(slots.keys);
    Slab* rest = bases + (std::size_t{1} << shape.bucket_bits);
    auto* bitmaps = reinterpret_cast<std::uint32_t*>(rest + units);
    auto* state = reinterpret_cast<table::SlabAllocState*>(rest + units + table::slab_blocks_for(units));
    const table::ContiguousUnits<Slab> rest_units(bitmaps, rest, units);
    return {Hash(bases, bucket_of(shape), table::SlabAlloc(rest_units, state)), bases};
  }
  WARPMER_HD static Done<Key> operate(Operation operation, int /*pass*/, const Scheme& scheme, const T& tile,
                                      table::Slot<Key> in, const Done<Key>& /*before*/) {
    Done<Key> done;
    switch (operation) {
      case Operation::insert:
      case Operation::insert_distinct:
      case Operation::insert_over_tombstones:
      case Operation::replace: {
        auto resident = scheme.hash.resident(tile, static_cast<std::uint32_t>(in.key));
        return done_with(operation == Operation::replace
                             ? scheme.hash.replace(tile, resident, in.key, in.count)
                             : scheme.hash.insert(tile, resident, in.key, in.count),
                         in.key, in.count);
      }
      case Operation::erase:
        done.placed = scheme.hash.erase(tile, in.key) != 0;
        return done;
      case Operation::find:
        break;
    }
    const auto place = scheme.hash.find_place(tile, in.key);
    done.count = scheme.hash.find(tile, in.key);
    if (place.slab == nullptr || done.count == 0) return done;
    done.placed = true;
    done.slot = (place.slab - scheme.first) * Slab::kSlots + place.slot;
    return done;
  }
  static std::uint64_t address(TableShape shape, Key key) { return bucket_of(shape)(key); }
  static std::size_t reach(TableShape shape, Key) {
    return std::size_t{Slab::kSlots} * (1 + (std::size_t{kUnitsPerBucket} << shape.bucket_bits));
  }
};

}  // namespace warpmer::tests
