#pragma once
/// The interface that a table in which a shard is counted has for ShardCounter: hashes go in by the list, all
/// of them come out in one, in any order.

#include <cstddef>
#include <cstdint>
#include <map>

#include "cpu/memory/scratch.h"
#include "cpu/simd/kernels.h"

namespace warpmer::cpu {

/// The parts of counts beyond their 32 bits, by key.
template <class Key>
using Carries = std::map<Key, std::uint64_t>;

/// Keys a kernel inserts between two looks at the table's size.
inline constexpr std::size_t kInsertKeys = 256;

/// Notes that a kernel takes of a counting table: how full it is, and what it could not hold. The lists have
/// `kListCapacity` entries; a kernel returns to its caller before they can overflow.
template <class KeyType>
struct TableNotes {
  using Key = KeyType;
  static constexpr std::size_t kListCapacity = 4096;
  std::uint32_t key_bits;
  std::size_t size;               ///< distinct keys in the slots
  std::size_t limit;              ///< size beyond which the table should grow
  std::uint64_t empty_key_count;  ///< occurrences of the key that marks empty slots
  Key* overflow;                  ///< keys that found no place
  std::uint32_t* overflow_counts;
  std::size_t overflow_size;
  Key* carries;  ///< keys whose count passed 2^32, once for each time
  std::size_t carries_size;
};

/// True when so many more keys may be inserted before the caller has to look after the table.
template <class Key>
[[gnu::always_inline]] inline bool has_room(const TableNotes<Key>& table, std::size_t keys) {
  return table.size + keys <= table.limit && table.overflow_size + keys <= TableNotes<Key>::kListCapacity &&
         table.carries_size + keys <= TableNotes<Key>::kListCapacity;
}

/// The arrays that a shard comes out in, and that its hashes are on their way in: the list is in `keys` and
/// `weights`, what has been counted in `keys` and `counts`.
template <class Key>
struct ShardArrays {
  Scratch<Key> keys;
  Scratch<std::uint32_t> weights;
  Scratch<std::uint64_t> counts;
};

/// A table that one thread owns; its memory is reused from shard to shard.
template <class Key>
class HashCounter {
 public:
  virtual ~HashCounter() = default;

  /// Empties the table, and makes room for so many keys, about. It grows when more come.
  virtual void reset(double distinct) = 0;
  /// Counts what is in a list. Parts that counts cannot hold go to `carries`.
  virtual void insert(const HashList<Key>& list, Carries<Key>& carries) = 0;
  /// Returns a list, in the arrays, of all keys with their counts, but for what `carries` has. A key may be
  /// in it twice: then its count is the sum.
  virtual HashList<Key> list(ShardArrays<Key>& arrays, Carries<Key>& carries) = 0;

  /// Returns how often it was built anew since it was empty, if it ever has to be.
  [[nodiscard]] virtual std::uint64_t rebuilds() const { return 0; }
  [[nodiscard]] virtual std::uint64_t memory_bytes() const = 0;
  /// Gives all memory back. Only `reset` may follow.
  virtual void clear() = 0;
};

/// The lists of what a table could not hold, and moving it from there to where it belongs.
template <class Key>
class TableLists {
 public:
  /// Makes a table use these lists, which are empty.
  void give_to(TableNotes<Key>& table) {
    constexpr std::size_t kCapacity = TableNotes<Key>::kListCapacity;
    table.overflow = overflow_.get(kCapacity);
    table.overflow_counts = overflow_counts_.get(kCapacity);
    table.carries = carries_.get(kCapacity);
    table.overflow_size = 0;
    table.carries_size = 0;
  }
  static void move_carries(TableNotes<Key>& table, Carries<Key>& carries) {
    for (std::size_t i = 0; i < table.carries_size; ++i) carries[table.carries[i]] += std::uint64_t{1} << 32;
    table.carries_size = 0;
  }

 private:
  Scratch<Key> overflow_, carries_;
  Scratch<std::uint32_t> overflow_counts_;
};

}  // namespace warpmer::cpu
