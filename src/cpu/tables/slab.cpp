// Counting in slab hashes.

#include "table/slab.h"

#include "cpu/memory/scratch.h"
#include "cpu/tables/scheme.h"
#include "table/slab_alloc.h"
#include "table/slab_hash.h"

namespace warpmer::cpu {

/// A slab hash, in buckets that are ordered by hash.
template <class Key>
struct SlabTable : TableNotes<Key> {
  table::CountSlab<Key>* slabs;  ///< one for each bucket, and then those that SlabAlloc hands out
  std::uint32_t buckets;
  std::uint64_t units;
  std::uint32_t* bitmaps;
  table::SlabAllocState* alloc_state;
  table::ResidentBlock resident;
};

/// Memory for a slab hash.
template <class Key>
class SlabMemory {
 public:
  using Table = SlabTable<Key>;
  using Slab = table::CountSlab<Key>;

  /// Makes an empty table whose base slabs are filled to `load` by so many keys, with a slab more for every
  /// fourth bucket: at three quarters, about every sixth needs one.
  void lay_out(Table& table, std::size_t keys, double load) {
    table.buckets = static_cast<std::uint32_t>(static_cast<double>(keys) / (load * Slab::kSlots)) + 1;
    table.units = table.buckets / 4 + 32;
    table.slabs = slabs_.get(table.buckets + table.units);
    for (std::uint64_t i = 0; i < table.buckets + table.units; ++i) table::make_empty(table.slabs[i]);
    const std::size_t words = std::size_t{table::blocks_for(table.units)} * table::kBitmapWords;
    table.bitmaps = bitmaps_.get(words);
    for (std::size_t i = 0; i < words; ++i) table.bitmaps[i] = table::bitmap_at_first(table.units, i);
    table.alloc_state = state_.get(1);
    *table.alloc_state = {};
    table.resident = {};
  }
  [[nodiscard]] std::uint64_t bytes() const { return slabs_.bytes() + bitmaps_.bytes() + state_.bytes(); }

 private:
  Scratch<Slab> slabs_;
  Scratch<std::uint32_t> bitmaps_;
  Scratch<table::SlabAllocState> state_;
};

namespace {

template <class KeyType>
class Slabs {
 public:
  using Key = KeyType;
  using Memory = SlabMemory<Key>;
  using Table = typename Memory::Table;
  static constexpr double kLoad = 0.75;
  static constexpr std::uint32_t kSeeds = 1;  // buckets are ordered: there is one hash function

  [[gnu::always_inline]] inline explicit Slabs(const Table& table)
      : slabs_(table.slabs),
        bucket_of_(table.buckets, table.key_bits),
        scheme_(table.slabs, bucket_of_,
                table::SlabAlloc(Units(table.bitmaps, table.slabs + table.buckets, table.units),
                                 table.alloc_state)),
        resident_(table.resident) {}

  [[gnu::always_inline]] inline void prefetch(Key key) const {
    const auto* lines = reinterpret_cast<const char*>(slabs_ + bucket_of_(key));
    __builtin_prefetch(lines, 1);
    __builtin_prefetch(lines + 64, 1);
  }
  [[gnu::always_inline]] inline table::Displacement<Key> insert(Key key, std::uint32_t count) {
    const Tile tile;
    return {scheme_.insert(tile, resident_, key, count), {key, count}};
  }
  template <class Visit>
  [[gnu::always_inline]] inline static void for_each(const Table& table, Visit&& visit) {
    const Slabs slabs(table);
    const Tile tile;
    for (std::uint32_t bucket = 0; bucket < table.buckets; ++bucket)
      slabs.scheme_.for_each(tile, bucket, visit);
  }

 private:
  /// Looks at the elements alone, or at all of the 128 bytes of a slab.
  using Tile = typename SchemeTile<Key, 16, table::CountSlab<Key>::kSlots>::type;
  using Units = table::ContiguousUnits<table::CountSlab<Key>>;

  table::CountSlab<Key>* slabs_;
  table::OrderedBucket<Key> bucket_of_;
  table::SlabHash<Tile, Units, table::OrderedBucket<Key>> scheme_;
  table::ResidentBlock resident_;
};

}  // namespace

WARPMER_COUNT_IN(slab, Slabs)

}  // namespace warpmer::cpu
