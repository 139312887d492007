#pragma once
/// One function that does any operation of slab_ops.h, for each kind of table, on hosts and on devices.

#include "bench/tables/slab_elements.h"
#include "bench/tables/super_blocks.h"
#include "kmer/kmer.h"
#include "kmer/platform.h"
#include "table/slab_hash.h"
#include "tiles/slab_ops.h"

namespace warpmer::tests {

/// Keys with counts. Both halves of wide keys matter.
template <class T, template <class> class UnitsOf>
struct SlabCounts {
  using Tile = T;
  using Key = typename T::Key;
  using Slab = table::CountSlab<Key>;
  using Units = UnitsOf<Slab>;
  using BucketOf = table::HashedBucket<Key>;
  using Table = table::SlabHash<T, Units, BucketOf>;
  static constexpr SlabKind kKind = SlabKind::counts;

  WARPMER_HD static Key key(std::uint32_t number) {
    if constexpr (sizeof(Key) == 16) return (Key{~number} << 96) | number;
    return Key{number} << 20;
  }
  WARPMER_HD static SlabElement element(table::Slot<Key> slot) {
    constexpr int kShift = sizeof(Key) == 16 ? 0 : 20;
    return {static_cast<std::uint32_t>(slot.key >> kShift), slot.count};
  }
  WARPMER_HD static SlabAnswer serve(const Table& table, const T& tile, table::ResidentBlock& resident,
                                     SlabRequest request) {
    const Key wanted = key(request.key);
    SlabAnswer answer;
    switch (request.operation) {
      case SlabOperation::insert:
      case SlabOperation::replace: {
        const auto done = request.operation == SlabOperation::insert
                              ? table.insert(tile, resident, wanted, request.n)
                              : table.replace(tile, resident, wanted, request.n);
        answer.placed = done.placed ? 1 : 0;
        answer.there = done.placed && !done.is_new ? 1 : 0;
        break;
      }
      case SlabOperation::erase:
        answer.value = table.erase(tile, wanted);
        break;
      case SlabOperation::subtract: {
        const auto done = table.subtract(tile, wanted, request.n);
        answer.placed = done.done ? 1 : 0;
        answer.value = done.there;
        break;
      }
      case SlabOperation::find:
      case SlabOperation::erase_all:
      case SlabOperation::find_all:
        answer.value = table.find(tile, wanted);
        break;
    }
    if (answer.value != 0) answer.there = 1;
    return answer;
  }
};

/// The paper's elements: pairs, where the tile's keys have 64 bits, or keys.
template <class T, template <class> class UnitsOf>
struct SlabWords {
  using Tile = T;
  using Element = typename T::Key;
  using Slab = bench::ElementSlab<Element>;
  using Units = UnitsOf<Slab>;
  using BucketOf = table::HashedBucket<std::uint32_t>;
  using Table = bench::SlabElements<T, Units, BucketOf>;
  static constexpr bool kHasValues = sizeof(Element) == 8;
  static constexpr SlabKind kKind = kHasValues ? SlabKind::pairs : SlabKind::keys;

  WARPMER_HD static std::uint32_t value(Element element) {
    if constexpr (kHasValues) return static_cast<std::uint32_t>(element >> 32);
    return 0;
  }
  WARPMER_HD static SlabElement element(table::Slot<Element> slot) {
    return {Table::key_of(slot.key), value(slot.key)};
  }
  WARPMER_HD static Element element_of(SlabRequest request) {
    if constexpr (kHasValues) return Table::pair(request.key, request.n);
    return request.key;
  }
  WARPMER_HD static SlabAnswer serve(const Table& table, const T& tile, table::ResidentBlock& resident,
                                     SlabRequest request) {
    SlabAnswer answer;
    typename Table::FoundElement found{false, Element{}};
    switch (request.operation) {
      case SlabOperation::insert:
        answer.placed = table.insert(tile, resident, element_of(request)) ? 1 : 0;
        break;
      case SlabOperation::replace: {
        const auto done = table.replace(tile, resident, element_of(request));
        answer.placed = done.placed ? 1 : 0;
        found = done.old;
        break;
      }
      case SlabOperation::erase:
        found = table.erase(tile, request.key);
        break;
      case SlabOperation::erase_all:
        answer.there = table.erase_all(tile, request.key);
        break;
      case SlabOperation::find_all: {
        std::uint32_t sum = 0;
        answer.there = table.find_all(tile, request.key, [&](Element one) { sum += value(one); });
        answer.value = sum;
        break;
      }
      case SlabOperation::find:
      case SlabOperation::subtract:
        found = table.find(tile, request.key);
        break;
    }
    if (found.found) {
      answer.there = 1;
      answer.value = value(found.element);
    }
    return answer;
  }
};

}  // namespace warpmer::tests
