// WarpDrive tables, to count in and for live tables.

#include "table/warpdrive.h"

#include "cpu/tables/scheme.h"
#include "cpu/tables/window_table.h"

namespace warpmer::cpu {
namespace {

template <class KeyType>
class OrderedWarpDrive {
 public:
  using Key = KeyType;
  using Memory = WindowMemory<Key>;
  using Table = typename Memory::Table;
  static constexpr double kLoad = Memory::kLoad;
  static constexpr std::uint32_t kSeeds = 1;  // keys are hashes: a crowded table can only be made larger

  [[gnu::always_inline]] inline explicit OrderedWarpDrive(const Table& table)
      : scheme_(table.slots, table.window_bits, table.key_bits) {}

  [[gnu::always_inline]] inline void prefetch(Key key) const {
    const auto slots = scheme_.window(scheme_.home(key));
    __builtin_prefetch(slots.keys, 1);
    __builtin_prefetch(slots.counts, 1);
  }
  [[gnu::always_inline]] inline table::Displacement<Key> insert(Key key, std::uint32_t count) {
    return {scheme_.insert(Tile(), key, count), {key, count}};
  }
  /// Most that is looked for is not there, and has no count.
  [[gnu::always_inline]] inline void prefetch_to_find(Key key) const {
    __builtin_prefetch(scheme_.window(scheme_.home(key)).keys);
  }
  [[gnu::always_inline]] inline std::uint32_t find(Key key) const {
    return scheme_.find_with_count(Tile(), key).count;
  }
  template <class Visit>
  [[gnu::always_inline]] inline static void for_each(const Table& table, Visit&& visit) {
    const std::size_t slots = std::size_t{kTableWindow<Key>} << table.window_bits;
    for (std::size_t i = 0; i < slots; ++i) {
      const table::Slot<Key> slot = table.slots.read(i);
      if (slot.key != table::kEmptyKey<Key>) visit(slot);
    }
  }

 private:
  using Tile = typename SchemeTile<Key, kTableWindow<Key>>::type;

  table::WarpDrive<Tile> scheme_;
};

}  // namespace

WARPMER_KERNELS_IN(warpdrive, OrderedWarpDrive)
WARPMER_COUNT_IN(warpdrive, OrderedWarpDrive)
WARPMER_LIVE_IN(warpdrive, OrderedWarpDrive)

}  // namespace warpmer::cpu
