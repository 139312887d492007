#pragma once
/// The interface that a table in which a shard is counted has for ShardCounter: hashes go in by the list, all
/// of them come out in canonical order.

#include <cstddef>
#include <cstdint>
#include <map>

#include "cpu/memory/scratch.h"
#include "cpu/simd/kernels.h"

namespace warpmer::cpu {

/// The parts of counts beyond their 32 bits, by key.
template <class Key>
using Carries = std::map<Key, std::uint64_t>;

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
  /// Writes all keys with their counts, but for what `carries` has, in increasing order to the arrays, and
  /// returns how many they are. Every key in `carries` is among them.
  virtual std::size_t harvest(ShardArrays<Key>& arrays, Carries<Key>& carries) = 0;

  /// Returns how often it was built anew since it was empty, if it ever has to be.
  [[nodiscard]] virtual std::uint64_t rebuilds() const { return 0; }
  [[nodiscard]] virtual std::uint64_t memory_bytes() const = 0;
  /// Gives all memory back. Only `reset` may follow.
  virtual void clear() = 0;
};

/// Merges `others` entries into the `size` before them, in arrays with room for both, from the back. All are
/// in increasing order, and no key is in both.
template <class Key>
void merge_from_back(Key* keys, std::uint64_t* counts, std::size_t size, const Key* other_keys,
                     const std::uint64_t* other_counts, std::size_t others) {
  for (std::size_t to = size + others; others > 0; --to) {
    const bool is_other = size == 0 || keys[size - 1] < other_keys[others - 1];
    keys[to - 1] = is_other ? other_keys[others - 1] : keys[size - 1];
    counts[to - 1] = is_other ? other_counts[others - 1] : counts[size - 1];
    --(is_other ? others : size);
  }
}

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
