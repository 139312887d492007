// Slab hashes, to count in and for live tables.

#include "table/slab.h"

#include "cpu/tables/scheme.h"
#include "cpu/tables/slab_table.h"
#include "table/slab_alloc.h"
#include "table/slab_hash.h"

namespace warpmer::cpu {

namespace {

template <class KeyType>
class Slabs {
 public:
  using Key = KeyType;
  using Memory = SlabMemory<Key>;
  using Table = typename Memory::Table;
  static constexpr double kLoad = Memory::kLoad;
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
  [[gnu::always_inline]] inline void prefetch_to_find(Key key) const {
    const auto* lines = reinterpret_cast<const char*>(slabs_ + bucket_of_(key));
    __builtin_prefetch(lines);
    __builtin_prefetch(lines + 64);
  }
  [[gnu::always_inline]] inline std::uint32_t find(Key key) const { return scheme_.find(Tile(), key); }
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

WARPMER_KERNELS_IN(slab, Slabs)
WARPMER_COUNT_IN(slab, Slabs)
WARPMER_LIVE_IN(slab, Slabs)

}  // namespace warpmer::cpu
