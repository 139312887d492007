#pragma once
/// Every scheme on every tile as plain functions, so that one test body runs for all of them although
/// tiles must be compiled for different instruction sets.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kmer/kmer.h"
#include "table/tile.h"
#include "table/word_slots.h"

namespace warpmer::tests {

/// A table's slots, all empty at first, in memory that its tile can work on.
template <class Key>
class TableMemory {
 public:
  virtual ~TableMemory() = default;
  [[nodiscard]] virtual table::Slots<Key> slots() = 0;
  virtual void fill(Key key) = 0;  ///< puts one key into all slots, with a count of 0
  /// Returns a copy of the slots, for the test to look at.
  [[nodiscard]] virtual std::vector<table::Slot<Key>> read() = 0;
};

template <class Key>
std::unique_ptr<TableMemory<Key>> host_memory(std::size_t slots);
/// Makes the memory of a slab hash: see slab_memory.h.
template <class Key>
std::unique_ptr<TableMemory<Key>> host_slab_memory(std::size_t slots);
/// Makes blocks of slots: see block_memory.h.
template <class Key>
std::unique_ptr<TableMemory<Key>> host_block_memory(std::size_t slots);

/// Slots of any form in an array of the test's own.
template <class Key>
class SlotArray {
 public:
  static constexpr table::Slot<Key> kEmpty{table::kEmptyKey<Key>, 0};

  explicit SlotArray(std::size_t size) : size_(size), memory_(size * table::Slots<Key>::kBytes) {
    fill(kEmpty);
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] void* data() { return memory_.data(); }
  [[nodiscard]] std::size_t bytes() const { return size_ * table::Slots<Key>::kBytes; }
  [[nodiscard]] table::Slots<Key> slots() { return table::Slots<Key>::in(data(), size_); }
  void fill(table::Slot<Key> in) {
    for (std::size_t i = 0; i < size_; ++i) slots().write(i, in);
  }
  [[nodiscard]] std::vector<table::Slot<Key>> read() {
    std::vector<table::Slot<Key>> all;
    for (std::size_t i = 0; i < size_; ++i) all.push_back(slots().read(i));
    return all;
  }

 private:
  std::size_t size_;
  std::vector<std::byte> memory_;  ///< aligned for any key
};

/// The shape of a table; each scheme uses the members that it needs.
struct TableShape {
  std::uint32_t bucket_bits;  ///< 2^bucket_bits windows or buckets, of the scheme's own size
  std::uint32_t key_bits;
  std::uint32_t seed = 1;
  std::uint32_t max_windows = 64;
};

/// The operation that is done with each of many keys.
enum class Operation {
  insert,
  insert_distinct,  ///< for keys that are brought once, and are not there
  find,             ///< and the count
  // The following are for schemes that erase.
  insert_over_tombstones,
  replace,
  erase,
};

/// The outcome of an operation.
template <class Key>
struct Done {
  bool placed = false;  ///< or found, or erased
  bool is_new = false;
  bool wrapped = false;
  std::ptrdiff_t slot = -1;                                 ///< slot in which the key was found
  std::uint32_t count = 0;                                  ///< the count that was found there
  table::Slot<Key> overflow = {table::kEmptyKey<Key>, 0u};  ///< the slot that found no place in exchange
};

/// The promises of a scheme.
struct SchemeFacts {
  const char* name;
  int passes = 1;                 ///< passes of an insertion over all keys, with a barrier between
  std::size_t stash = 0;          ///< slots behind those of the buckets
  double sure_load;               ///< load of the buckets up to which every key finds a place in them
  bool fills_up = false;          ///< places as many keys as there are slots
  bool may_spare = false;         ///< keys brought side by side may leave copies with a count of 0
  bool erases = false;            ///< has the operations of schemes that erase
  bool seeded = true;             ///< another seed puts keys into other buckets
  bool width_is_all_one = false;  ///< the same layout, whatever the tile's width
  bool distinct_at_once = true;   ///< inserts distinct keys side by side in one pass, without loss or copies
  bool chains = false;     ///< a bucket takes any room there is, and a key that was erased keeps its slot
  bool in_blocks = false;  ///< slots lie in blocks (table/slot_blocks.h)
};

/// Arrays are the test's own, in host memory; slots are a TableMemory's.
template <class Key>
struct SchemeOnTile {
  using Run = void (*)(table::Slots<Key>, TableShape, Operation, const Key* keys, const std::uint32_t* n,
                       std::size_t size, Done<Key>* done);
  SchemeFacts scheme;
  const char* tile;
  int width;
  bool exclusive;
  std::size_t most_slots;  ///< slots of a table
  std::unique_ptr<TableMemory<Key>> (*memory)(std::size_t slots);
  std::unique_ptr<TableMemory<Key>> (*plain_memory)(std::size_t slots);  ///< for the tile's own test
  std::size_t (*slots)(TableShape);  ///< number of slots that a table of this shape needs
  Run run;                           ///< one key after another
  Run run_at_once;                   ///< by many tiles side by side; null for tiles that own their table
  // Keys with the same address may take the same slots, `reach` of them.
  std::uint64_t (*address)(TableShape, Key);
  std::size_t (*reach)(TableShape, Key);
  // The following are functions of the tile itself.
  table::SlotMask (*match)(table::Slots<Key>, Key);
  table::SlotMask (*empty)(table::Slots<Key>);
  std::uint32_t (*count)(table::Slots<Key>, int slot);
  table::Claim (*claim)(table::Slots<Key>, int slot, Key, Key over);
  table::Slot<Key> (*exchange)(table::Slots<Key>, int slot, table::Slot<Key>);
  Key (*exchange_key)(table::Slots<Key>, int slot, Key);
  std::uint32_t (*add)(table::Slots<Key>, int slot, std::uint32_t n);
  void (*store)(table::Slots<Key>, int slot, std::uint32_t n);
  // True for tiles that can look at slabs (table::SlabTile).
  bool is_slab_tile;
  table::SlotMask (*match_part)(table::Slots<Key>, Key, Key bits);
  Key (*key_in)(table::Slots<Key>, int slot);
  std::uint32_t (*count_now)(table::Slots<Key>, int slot);
};

/// An array in static storage.
template <class Key>
struct SchemesOnTiles {
  const SchemeOnTile<Key>* first;
  std::size_t size;
};

extern const SchemesOnTiles<Key64> kScalarTiles64;
extern const SchemesOnTiles<Key128> kScalarTiles128;
extern const SchemesOnTiles<table::Key32> kWordTiles;
extern const SchemesOnTiles<Key64> kAvx2Tiles;
extern const SchemesOnTiles<Key64> kAvx512Tiles;
// The following are in GPU tests only. Keys of 128 bits need compute capability 9.0.
extern const SchemesOnTiles<Key64> kCudaTiles64;
extern const SchemesOnTiles<Key128> kCudaTiles128;
extern const SchemesOnTiles<Key64> kCudaBuckets64;
extern const SchemesOnTiles<Key128> kCudaBuckets128;
extern const SchemesOnTiles<table::Key32> kCudaWordTiles;
extern const SchemesOnTiles<table::Key32> kCudaWordBuckets;

/// Returns the schemes that this machine's CPU can run, of those that are built.
inline std::vector<SchemeOnTile<Key64>> all_schemes_64() {
  std::vector<SchemeOnTile<Key64>> all;
  const auto add = [&](const SchemesOnTiles<Key64>& some) {
    all.insert(all.end(), some.first, some.first + some.size);
  };
  add(kScalarTiles64);
#if defined(WARPMER_VECTOR_TILES)
  if (__builtin_cpu_supports("avx2")) add(kAvx2Tiles);
  if (__builtin_cpu_supports("avx512f")) add(kAvx512Tiles);
#endif
  return all;
}
inline std::vector<SchemeOnTile<Key128>> all_schemes_128() {
  return {kScalarTiles128.first, kScalarTiles128.first + kScalarTiles128.size};
}
/// Returns those with slots of 32 + 32 bits.
inline std::vector<SchemeOnTile<table::Key32>> all_schemes_of_words() {
  return {kWordTiles.first, kWordTiles.first + kWordTiles.size};
}

}  // namespace warpmer::tests
