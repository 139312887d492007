#pragma once
/// The common part of the sources of schemes, of which bcht.cpp is the shortest. Such a source has a class:
/// the scheme on the tiles of the instruction set that it is compiled for. Compiled for the first set, it
/// also has the table's maker (cpu/count/scheme_counters.h). Functions are always inlined, or in an unnamed
/// namespace: scripts/check_isa.sh says why.
///
///     template <class Key>
///     class Scheme {
///       using Memory = ...;                       // as TableCounter wants it
///       using Table = typename Memory::Table;     // derived of TableNotes<Key>
///       static constexpr double kLoad;            // TableLimits
///       static constexpr std::uint32_t kSeeds;
///       explicit Scheme(const Table&);
///       void prefetch(Key) const;                 // of what `insert` of the key will look at
///       Displacement<Key> insert(Key, std::uint32_t count);   // tells what is left over, if anything
///       static void for_each(const Table&, visit);            // calls visit(Slot<Key>) for all keys
///       // For live tables (cpu/live) alone:
///       void prefetch_to_find(Key) const;
///       std::uint32_t find(Key) const;            // the count, or 0
///     };
///     WARPMER_KERNELS_IN(name, Scheme)            // in namespace warpmer::cpu; then one of these, or both:
///     WARPMER_COUNT_IN(name, Scheme)
///     WARPMER_LIVE_IN(name, Scheme)

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <memory>

#include "cpu/count/scheme_counters.h"
#include "cpu/tables/table_counter.h"
#include "table/insertion.h"
#include "table/tile.h"
#if defined(__AVX512F__)
#include "table/tile_avx512.h"
#elif defined(__AVX2__)
#include "table/tile_avx2.h"
#endif

namespace warpmer::cpu {

/// Kernels of a scheme for one instruction set.
template <class NarrowTable, class WideTable>
struct SchemeKernels {
  TableKernels<NarrowTable> narrow;
  TableKernels<WideTable> wide;
};

namespace {

/// This instruction set's tile for so many slots. One that is no vector may look at fewer, where some of them
/// hold no keys.
template <class Key, int Slots, int SerialSlots = Slots>
struct SchemeTile {
  using type = table::SerialTile<Key, SerialSlots>;
};
#if defined(__AVX512F__)
template <int Slots, int SerialSlots>
struct SchemeTile<Key64, Slots, SerialSlots> {
  using type = table::Avx512Tile<Slots>;
};
#elif defined(__AVX2__)
template <int Slots, int SerialSlots>
struct SchemeTile<Key64, Slots, SerialSlots> {
  using type = table::Avx2Tile<Slots>;
};
#endif

/// Keys that are looked at before it is their turn.
constexpr std::size_t kTableAhead = 24;

/// Inserts one entry, and takes note of all but a key that is left over.
template <class Scheme>
[[gnu::always_inline]] inline auto insert_slot(Scheme& scheme, typename Scheme::Table& table,
                                               typename Scheme::Key key, std::uint32_t count) {
  const auto done = scheme.insert(key, count);
  if (done.insertion.placed && done.insertion.is_new) ++table.size;
  if (done.insertion.wrapped) [[unlikely]]
    table.carries[table.carries_size++] = key;
  return done;
}

template <class Scheme>
std::size_t insert_list(typename Scheme::Table& table, const HashList<typename Scheme::Key>& list,
                        std::size_t first) {
  using Key = typename Scheme::Key;
  Scheme scheme(table);
  std::size_t i = first;
  while (i < list.size && has_room(table, kInsertKeys)) {
    const std::size_t end = list.size - i < kInsertKeys ? list.size : i + kInsertKeys;
    for (; i < end; ++i) {
      scheme.prefetch(list.keys[i + kTableAhead < list.size ? i + kTableAhead : i]);
      const Key key = list.keys[i];
      if (key == table::kEmptyKey<Key>) [[unlikely]] {
        table.empty_key_count += list.weights[i];
      } else {
        const auto done = insert_slot(scheme, table, key, list.weights[i]);
        if (!done.insertion.placed) [[unlikely]] {
          table.overflow[table.overflow_size] = done.overflow.key;
          table.overflow_counts[table.overflow_size++] = done.overflow.count;
        }
      }
    }
  }
  return i;
}

template <class Scheme>
bool rehash_table(const typename Scheme::Table& from, typename Scheme::Table& to) {
  using Key = typename Scheme::Key;
  Scheme scheme(to);
  bool placed = true;
  Scheme::for_each(from, [&](table::Slot<Key> slot) {
    placed = placed && insert_slot(scheme, to, slot.key, slot.count).insertion.placed;
  });
  for (std::size_t i = 0; placed && i < from.overflow_size; ++i)
    placed = insert_slot(scheme, to, from.overflow[i], from.overflow_counts[i]).insertion.placed;
  return placed;
}

template <class Scheme>
void list_table(const typename Scheme::Table& table, HashList<typename Scheme::Key>& list) {
  Scheme::for_each(table, [&](table::Slot<typename Scheme::Key> slot) {
    list.keys[list.size] = slot.key;
    list.weights[list.size] = slot.count;
    list.weights_or |= slot.count;
    ++list.size;
  });
}

template <class Scheme>
void find_list(const typename Scheme::Table& table, const typename Scheme::Key* keys, std::size_t n,
               std::uint32_t* counts) {
  const Scheme scheme(table);
  for (std::size_t i = 0; i < n; ++i) {
    scheme.prefetch_to_find(keys[i + kTableAhead < n ? i + kTableAhead : i]);
    counts[i] = scheme.find(keys[i]);
  }
}
/// Returns `find_list` where the scheme has a `find`, else null.
template <class Scheme>
constexpr auto find_kernel() -> decltype(TableKernels<typename Scheme::Table>::find) {
  if constexpr (requires(const Scheme& scheme, typename Scheme::Key key) { scheme.find(key); }) {
    return find_list<Scheme>;
  } else {
    return nullptr;
  }
}

template <class Scheme>
constexpr TableKernels<typename Scheme::Table> kTableKernels = {insert_list<Scheme>, rehash_table<Scheme>,
                                                                list_table<Scheme>, find_kernel<Scheme>()};

template <template <class> class Scheme, class Key>
using TableOf = typename Scheme<Key>::Table;
template <template <class> class Scheme>
using KernelsOf = SchemeKernels<typename Scheme<Key64>::Table, typename Scheme<Key128>::Table>;

template <template <class> class Scheme>
constexpr KernelsOf<Scheme> kSchemeKernels = {kTableKernels<Scheme<Key64>>, kTableKernels<Scheme<Key128>>};

template <template <class> class Scheme, class Key>
std::unique_ptr<HashCounter<Key>> make_counter(const KernelsOf<Scheme>& kernels, std::uint32_t k) {
  using Counter = TableCounter<typename Scheme<Key>::Memory>;
  constexpr TableLimits kLimits = {Scheme<Key>::kLoad, Scheme<Key>::kSeeds};
  if constexpr (sizeof(Key) == 8) {
    return std::make_unique<Counter>(kernels.narrow, kLimits, k);
  } else {
    return std::make_unique<Counter>(kernels.wide, kLimits, k);
  }
}

}  // namespace
}  // namespace warpmer::cpu

// The macro defines the kernels for the instruction set that the source is compiled for. CMakeLists.txt names
// it, WARPMER_ISA, but for the first.
#define WARPMER_KERNELS(name, isa) kKernels_##name##_##isa
#define WARPMER_KERNELS_FOR(name, isa) WARPMER_KERNELS(name, isa)
#define WARPMER_DEFINE_KERNELS(name, isa, Scheme)                \
  extern const KernelsOf<Scheme> WARPMER_KERNELS_FOR(name, isa); \
  const KernelsOf<Scheme> WARPMER_KERNELS_FOR(name, isa) = kSchemeKernels<Scheme>;

#if defined(WARPMER_ISA)
#define WARPMER_KERNELS_IN(name, Scheme) WARPMER_DEFINE_KERNELS(name, WARPMER_ISA, Scheme)
#define WARPMER_COUNT_IN(name, Scheme)
#define WARPMER_LIVE_IN(name, Scheme)
#else
#if defined(WARPMER_X86_KERNELS)
#define WARPMER_ALL_KERNELS(name, Scheme)                                                    \
  extern const KernelsOf<Scheme> WARPMER_KERNELS(name, avx2), WARPMER_KERNELS(name, avx512); \
  constexpr const KernelsOf<Scheme>* kAll_##name[] = {                                       \
      &WARPMER_KERNELS(name, v2), &WARPMER_KERNELS(name, avx2), &WARPMER_KERNELS(name, avx512)};
#else
#define WARPMER_ALL_KERNELS(name, Scheme) \
  constexpr const KernelsOf<Scheme>* kAll_##name[] = {&WARPMER_KERNELS(name, v2)};
#endif
#define WARPMER_KERNELS_IN(name, Scheme)   \
  WARPMER_DEFINE_KERNELS(name, v2, Scheme) \
  WARPMER_ALL_KERNELS(name, Scheme)
#define WARPMER_COUNT_IN(name, Scheme)                                                        \
  template <class Key>                                                                        \
  std::unique_ptr<HashCounter<Key>> make_##name(const Kernels& kernels, std::uint32_t k) {    \
    return make_counter<Scheme, Key>(*kAll_##name[static_cast<std::size_t>(kernels.isa)], k); \
  }                                                                                           \
  template std::unique_ptr<HashCounter<Key64>> make_##name(const Kernels&, std::uint32_t);    \
  template std::unique_ptr<HashCounter<Key128>> make_##name(const Kernels&, std::uint32_t);
#define WARPMER_LIVE_IN(name, Scheme)                                                 \
  template <>                                                                         \
  const TableKernels<TableOf<Scheme, Key64>>& live_kernels(const Kernels& kernels) {  \
    return kAll_##name[static_cast<std::size_t>(kernels.isa)]->narrow;                \
  }                                                                                   \
  template <>                                                                         \
  const TableKernels<TableOf<Scheme, Key128>>& live_kernels(const Kernels& kernels) { \
    return kAll_##name[static_cast<std::size_t>(kernels.isa)]->wide;                  \
  }
#endif
