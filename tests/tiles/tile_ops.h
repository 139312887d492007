#pragma once
/// Every scheme on every tile as plain functions, so that one test body runs for all of them although
/// tiles must be compiled for different instruction sets.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/kmer.h"
#include "table/tile.h"
#include "table/warpdrive.h"

namespace warpmer::tests {

template <class Key>
struct SchemeOnTile {
  const char* scheme;
  const char* tile;
  int width;
  bool exclusive;
  table::Insertion (*insert)(table::Slots<Key>, std::uint32_t window_bits, std::uint32_t key_bits, Key,
                             std::uint32_t n);
  std::ptrdiff_t (*find)(table::Slots<Key>, std::uint32_t window_bits, std::uint32_t key_bits, Key);
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

/// Those this machine can run.
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
