#pragma once
/// A child of a paged table (Starfish: Xiong et al. 2022, sections 4.1 and 4.3): a whole hash table of its
/// own, with its hash functions and its stash, which serves operations while it is in a frame of the device.
/// Any of the schemes would do; the paper has cuckoo hashing. Ours is iceberg hashing, because keys that
/// never move can be counted batch after batch: `find` comes to the same copy of a key for as long as the
/// child lives (table/iceberg.h). Slots are words of a 32-bit key and a 32-bit value (table/word_slots.h).
///
/// A value of 0 is none: a key that has it is not there. So erasing is storing 0, side by side with erasures
/// of others, and the slot is free again when the child is rebuilt. Values of a key that is added again are
/// summed up, modulo 2^32.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/platform.h"
#include "table/child_directory.h"
#include "table/iceberg.h"
#include "table/insertion.h"
#include "table/word_slots.h"

namespace warpmer::table {

/// Slots of a bucket: with 32, an iceberg table is filled up to 0.91 (Awad et al. 2023, Table 1). Behind the
/// buckets there are the 128 slots of the stash, where the paper has 101.
inline constexpr int kChildBucket = 32;

template <Tile T>
using ChildScheme = Iceberg<T, 80>;

/// What tells a child's slots from another's.
struct ChildShape {
  std::uint32_t buckets = 0;
  std::uint32_t seed = 0;

  [[nodiscard]] WARPMER_HD constexpr std::size_t words() const {
    return std::size_t{buckets} * kChildBucket + kStashSlots;
  }
  [[nodiscard]] constexpr std::size_t bytes() const { return words() * Slots<Key32>::kBytes; }
  /// Entries that it is to hold at such a load of its buckets.
  [[nodiscard]] std::uint64_t entries_at(double load) const {
    return static_cast<std::uint64_t>(load * kChildBucket * buckets);
  }
  /// Buckets for so many entries, at least 1.
  [[nodiscard]] static std::uint32_t buckets_for(std::uint64_t entries, double load) {
    const auto buckets =
        static_cast<std::uint32_t>(std::ceil(static_cast<double>(entries) / load / kChildBucket));
    return buckets == 0 ? 1 : buckets;
  }
};

/// One step of serving an operation. Keys that a batch has several times are added in two, with a barrier
/// between; keys that it has once, in one.
enum class ChildStep : std::uint8_t {
  place,   ///< of adding: the key gets a slot
  count,   ///< of adding: the value goes there
  insert,  ///< both, of keys that no other tile brings at the same time
  erase,
};

/// A child in a frame, and what belongs to it.
struct ChildInFrame {
  std::uint64_t* words = nullptr;
  ChildShape shape;
  std::uint32_t number = 0;
  ChildDirectoryView<Key32> directory;
};

/// What became of one operation in one step.
struct ChildOutcome {
  bool is_mine = false;  ///< the child's, and not done yet
  bool is_done = false;  ///< nothing is left to do
  bool is_new = false;   ///< it took a slot
};

template <Tile T>
class ChildTable {
 public:
  WARPMER_HD explicit ChildTable(const ChildInFrame& child)
      : child_(child), scheme_({child.words}, child.shape.buckets, child.shape.seed) {}

  /// Serves a pair of a batch, unless it is another child's, or served (kEmptyWord).
  template <ChildStep kStep>
  WARPMER_HD ChildOutcome serve(const T& tile, std::uint64_t pair) const {
    ChildOutcome outcome;
    const Key32 key = key_of(pair);
    outcome.is_mine = key != kEmptyKey<Key32> && child_.directory.belongs(key, child_.number);
    if (!outcome.is_mine) return outcome;
    if constexpr (kStep == ChildStep::erase) {
      const std::ptrdiff_t slot = scheme_.find(tile, key);
      if (slot >= 0) tile.store(Slots<Key32>{child_.words + slot}, 0, 0);
      outcome.is_done = true;
    } else {
      const Insertion insertion = kStep == ChildStep::place   ? scheme_.place(tile, key)
                                  : kStep == ChildStep::count ? scheme_.add(tile, key, count_of(pair))
                                                              : scheme_.insert(tile, key, count_of(pair));
      outcome.is_done = insertion.placed;
      outcome.is_new = insertion.is_new;
    }
    return outcome;
  }

  /// Whether a query is the child's and not answered yet (kEmptyKey).
  [[nodiscard]] WARPMER_HD bool is_asked(Key32 key) const {
    return key != kEmptyKey<Key32> && child_.directory.belongs(key, child_.number);
  }
  /// The key's value; 0: it is not there.
  [[nodiscard]] WARPMER_HD std::uint32_t find(const T& tile, Key32 key) const {
    return scheme_.find_with_count(tile, key).count;
  }

  /// Whether an entry of a child's image is to be carried over when the child is rebuilt, halved or merged:
  /// erased ones are not, nor what tiles that placed the same key at once have left.
  [[nodiscard]] WARPMER_HD bool takes_over(std::uint64_t entry) const {
    return count_of(entry) > 0 && child_.directory.belongs(key_of(entry), child_.number);
  }

 private:
  ChildInFrame child_;
  ChildScheme<T> scheme_;
};

/// What the work on a child in its frame came to, since it was asked last.
struct ChildReport {
  std::uint64_t left = 0;    ///< operations, or entries carried over, that found no room
  std::uint64_t filled = 0;  ///< slots that were taken
  std::uint64_t found = 0;   ///< queries answered with a value

  /// What became of an operation of the child, in its last step.
  WARPMER_HD void note(const ChildOutcome& outcome) {
    left += outcome.is_done ? 0 : 1;
    filled += outcome.is_new ? 1 : 0;
  }
};

}  // namespace warpmer::table
