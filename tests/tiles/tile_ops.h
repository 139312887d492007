#pragma once
/// Every scheme on every tile as plain functions, so that one test body runs for all of them although
/// tiles must be compiled for different instruction sets.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/kmer.h"
#include "table/tile.h"
#include "table/warpdrive.h"

namespace warpmer::tests {

/// A table's slots, all empty at first, where its tile can work on them.
template <class Key>
class TableMemory {
 public:
  virtual ~TableMemory() = default;
  [[nodiscard]] virtual table::Slots<Key> slots() = 0;
  virtual void fill(Key key) = 0;  ///< puts one key into all slots
  // Copies, for the test to look at.
  [[nodiscard]] virtual std::vector<Key> keys() const = 0;
  [[nodiscard]] virtual std::vector<std::uint32_t> counts() const = 0;
};

template <class Key>
std::unique_ptr<TableMemory<Key>> host_memory(std::size_t slots);

struct TableShape {
  std::uint32_t window_bits;
  std::uint32_t key_bits;
};

/// Arrays are the test's own, in host memory; slots are a TableMemory's.
template <class Key>
struct SchemeOnTile {
  using Insert = void (*)(table::Slots<Key>, TableShape, const Key* keys, const std::uint32_t* n,
                          std::size_t size, table::Insertion* done);
  const char* scheme;
  const char* tile;
  int width;
  bool exclusive;
  std::size_t most_slots;  ///< of a table
  std::unique_ptr<TableMemory<Key>> (*memory)(std::size_t slots);
  Insert insert;          ///< one after another
  Insert insert_at_once;  ///< by many tiles side by side; null for tiles that own their table
  void (*find)(table::Slots<Key>, TableShape, const Key* keys, std::size_t size, std::ptrdiff_t* slots);
  // Of the tile itself.
  table::SlotMask (*match)(table::Slots<Key>, Key);
  table::SlotMask (*empty)(table::Slots<Key>);
  table::Claim (*claim)(table::Slots<Key>, int slot, Key);
  table::Slot<Key> (*exchange)(table::Slots<Key>, int slot, table::Slot<Key>);
  std::uint32_t (*add)(table::Slots<Key>, int slot, std::uint32_t n);
};

/// An array in static storage.
template <class Key>
struct SchemesOnTiles {
  const SchemeOnTile<Key>* first;
  std::size_t size;
};

extern const SchemesOnTiles<Key64> kScalarTiles64;
extern const SchemesOnTiles<Key128> kScalarTiles128;
extern const SchemesOnTiles<Key64> kAvx2Tiles;
extern const SchemesOnTiles<Key64> kAvx512Tiles;
// In GPU tests only. Keys of 128 bits need compute capability 9.0.
extern const SchemesOnTiles<Key64> kCudaTiles64;
extern const SchemesOnTiles<Key128> kCudaTiles128;

/// Those this machine's CPU can run.
inline std::vector<SchemeOnTile<Key64>> all_schemes_64() {
  std::vector<SchemeOnTile<Key64>> all;
  const auto add = [&](const SchemesOnTiles<Key64>& some) {
    all.insert(all.end(), some.first, some.first + some.size);
  };
  add(kScalarTiles64);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) add(kAvx2Tiles);
  if (__builtin_cpu_supports("avx512f")) add(kAvx512Tiles);
#endif
  return all;
}
inline std::vector<SchemeOnTile<Key128>> all_schemes_128() {
  return {kScalarTiles128.first, kScalarTiles128.first + kScalarTiles128.size};
}

}  // namespace warpmer::tests
