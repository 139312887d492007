#pragma once
/// The two tables on slab lists (slab_elements.h, table/slab_hash.h) as the experiments use them, on
/// any tile: the work for one pair, one key, one operation, and the sizes of the tables.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kmer/platform.h"
#include "table/slab_hash.h"
#include "tables/keys.h"
#include "tables/slab_elements.h"
#include "tables/table_under_test.h"

namespace warpmer::bench {

/// Returns the expected number of slabs of a bucket with so many elements on average: the sum of P(elements >
/// j slots), for Poisson's law.
inline double slabs_of_bucket(double elements_of_bucket, int slots) {
  const double spread = 12 * std::sqrt(elements_of_bucket) + 60;
  double slabs = 1;
  for (double k = 1; k < elements_of_bucket + spread; ++k) {
    const double p = std::exp(k * std::log(elements_of_bucket) - elements_of_bucket - std::lgamma(k + 1));
    slabs += p * (std::ceil(k / slots) - 1);
  }
  return slabs;
}

/// Returns the number of buckets of a slab hash in which so many elements fill this share of all slots. With
/// few elements for each bucket, base slabs are nearly empty; with many, a smaller part is lost in last
/// slabs. If two numbers would do, the larger is returned, with the shorter lists (Ashkiani et al. 2018, Fig.
/// 4c).
inline std::uint32_t buckets_of_slabs(std::size_t elements, double load, int slots) {
  constexpr double kFewest = 0.01, kMost = 4000, kStep = 1.01;
  double each = kFewest;
  while (each < kMost && each / (slots * slabs_of_bucket(each, slots)) < load) each *= kStep;
  const double buckets = static_cast<double>(elements) / each;
  return buckets < 1 ? 1u : static_cast<std::uint32_t>(std::llround(buckets));
}

/// Returns a number of units of which so many elements never run out: every slab but a bucket's last one has
/// `slots` elements. It is twice as many, so that hashes soon find a memory block with room (in the paper a
/// tenth of the units was taken), and some more for tiles that hold one for a moment.
inline std::uint64_t units_for(std::size_t elements, int slots, std::uint32_t tiles) {
  return 2 * (elements / static_cast<std::size_t>(slots)) + tiles + table::kUnitsPerBlock;
}

/// Pairs of a 32-bit key and a 32-bit value, as in the paper. Keys are kept unique: `replace`.
template <class T, template <class> class UnitsOf>
struct SlabPairs {
  using Tile = T;
  using Slab = ElementSlab<std::uint64_t>;
  using Units = UnitsOf<Slab>;
  using BucketOf = table::HashedBucket<std::uint32_t>;
  using Table = SlabElements<T, Units, BucketOf>;
  static constexpr int kElementBytes = 8;
  static constexpr Repeats kRepeats = Repeats::none;
  static constexpr bool kReplaces = true;

  WARPMER_HD static bool insert(const Table& table, const T& tile, table::ResidentBlock& resident,
                                std::uint64_t pair, bool /*distinct*/) {
    return table.replace(tile, resident, pair).placed;
  }
  WARPMER_HD static std::uint32_t find(const Table& table, const T& tile, Key32 key, bool /*distinct*/) {
    return answer(table.find(tile, key));
  }
  WARPMER_HD static std::uint32_t serve(const Table& table, const T& tile, table::ResidentBlock& resident,
                                        const Operation& operation) {
    if (operation.kind == OperationKind::find) return answer(table.find(tile, operation.key));
    if (operation.kind == OperationKind::erase) return answer(table.erase(tile, operation.key));
    const auto done = table.replace(tile, resident, Table::pair(operation.key, operation.value));
    return done.placed ? answer(done.old) : kRefused;
  }

 private:
  WARPMER_HD static std::uint32_t answer(typename Table::FoundElement found) {
    return found.found ? table::count_of(found.element) : kAbsent;
  }
};

/// 64-bit keys with 32-bit counts, as k-mers have them. Values are kept as counts that are 1 larger, because
/// a count of 0 is none.
template <class T, template <class> class UnitsOf>
struct SlabKmers {
  using Tile = T;
  using Slab = table::CountSlab<Key64>;
  using Units = UnitsOf<Slab>;
  using BucketOf = table::HashedBucket<Key64>;
  using Table = table::SlabHash<T, Units, BucketOf>;
  static constexpr int kElementBytes = 12;
  static constexpr Repeats kRepeats = Repeats::any;
  static constexpr bool kReplaces = false;

  WARPMER_HD static bool insert(const Table& table, const T& tile, table::ResidentBlock& resident,
                                std::uint64_t pair, bool distinct) {
    const std::uint32_t n = table::count_of(pair) + (distinct ? 1 : 0);
    return table.insert(tile, resident, wide(table::key_of(pair)), n).placed;
  }
  WARPMER_HD static std::uint32_t find(const Table& table, const T& tile, Key32 key, bool distinct) {
    return answer(table.find(tile, wide(key)), distinct);
  }
  WARPMER_HD static std::uint32_t serve(const Table& table, const T& tile, table::ResidentBlock& resident,
                                        const Operation& operation) {
    const Key64 key = wide(operation.key);
    if (operation.kind == OperationKind::find) return answer(table.find(tile, key), true);
    if (operation.kind == OperationKind::erase) return answer(table.erase(tile, key), true);
    const auto done = table.replace(tile, resident, key, operation.value + 1);
    return !done.placed ? kRefused : done.is_new ? kAbsent : kReplaced;
  }

 private:
  /// Returns a different key of 64 bits for each one of 32. (The key that would become the mark of empty
  /// slots has 64 bits.)
  WARPMER_HD static Key64 wide(Key32 key) { return mix64(key); }
  WARPMER_HD static std::uint32_t answer(std::uint32_t count, bool distinct) {
    return count == 0 ? kAbsent : distinct ? count - 1 : count;
  }
};

/// The entry of a list for a table of such a case.
template <class Case>
constexpr Configuration slab_configuration(const char* name, int group) {
  return {.table = name,
          .group = group,
          .bucket = Case::Slab::kSlots,
          .window = 0,
          .hashes = 1,
          .most_load = 0.99,
          .element_bytes = Case::kElementBytes,
          .repeats = Case::kRepeats,
          .keeps_repeats = false,
          .has_first_bucket = false,
          .counts_probes = true,
          .serves = true,
          .replaces = Case::kReplaces};
}

}  // namespace warpmer::bench
