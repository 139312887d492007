#pragma once
/// A child of a paged table (Starfish: Xiong et al. 2022, sections 4.1 and 4.3): a whole hash table of its
/// own, with its hash functions and its stash, which serves operations while it is in a frame of the device.
/// Any of the schemes would do; the paper has cuckoo hashing. Ours is iceberg hashing, because keys that
/// never move can be counted batch after batch: `find` comes to the same copy of a key for as long as the
/// child lives (table/iceberg.h).
///
/// Counts of a key that is added again are summed up. A key whose count, or value, is 0 is not there. So
/// erasing is storing 0, side by side with erasures of others, and the slot is free again when the child is
/// rebuilt.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/error.h"
#include "kmer/platform.h"
#include "table/child_directory.h"
#include "table/child_items.h"
#include "table/iceberg.h"
#include "table/insertion.h"
#include "table/tile.h"

namespace warpmer::table {

/// Slots of a bucket: with 32, an iceberg table is filled up to 0.91 (Awad et al. 2023, Table 1). Behind the
/// buckets there are the 128 slots of the stash, where the paper has 108.
inline constexpr int kChildBucket = 32;

template <Tile T>
using ChildScheme = Iceberg<T, 80>;

/// The facts that tell a child's slots from another's.
struct ChildShape {
  std::uint32_t buckets = 0;
  std::uint32_t seed = 0;

  [[nodiscard]] WARPMER_HD constexpr std::size_t slots() const {
    return std::size_t{buckets} * kChildBucket + kStashSlots;
  }
  template <class Key>
  [[nodiscard]] constexpr std::size_t bytes() const {
    return slots() * Slots<Key>::kBytes;
  }
  /// Returns the number of entries that it is to hold at such a load of its buckets.
  [[nodiscard]] std::uint64_t entries_at(double load) const {
    return static_cast<std::uint64_t>(load * kChildBucket * buckets);
  }
  /// Returns the number of buckets for so many entries, at least 1.
  [[nodiscard]] static std::uint32_t buckets_for(std::uint64_t entries, double load) {
    const auto buckets =
        static_cast<std::uint32_t>(std::ceil(static_cast<double>(entries) / load / kChildBucket));
    return buckets == 0 ? 1 : buckets;
  }
};

/// One step of serving an operation. Keys that a batch has several times are added in two, with a barrier
/// between; keys that it has once, in one.
enum class ChildStep : std::uint8_t {
  place,     ///< step of adding: the key gets a slot
  count,     ///< step of adding: the value goes there
  insert,    ///< both, of keys that no other tile brings at the same time
  subtract,  ///< takes off a key's count, of k-mers that no other tile brings at the same time
  erase,
};

/// Calls `work` with a step as a constant. Children of k-mers have `insert` and `subtract`: what two tiles
/// that place the same key leave behind is told from keys by its count of 0.
template <class Key, class Work>
void with_child_step(ChildStep step, Work&& work) {
  if constexpr (ChildItems<Key>::kArePairs) {
    switch (step) {
      case ChildStep::place:
        return work(std::integral_constant<ChildStep, ChildStep::place>());
      case ChildStep::count:
        return work(std::integral_constant<ChildStep, ChildStep::count>());
      case ChildStep::erase:
        return work(std::integral_constant<ChildStep, ChildStep::erase>());
      case ChildStep::insert:
        return work(std::integral_constant<ChildStep, ChildStep::insert>());
      case ChildStep::subtract:
        break;
    }
  } else {
    if (step == ChildStep::insert) return work(std::integral_constant<ChildStep, ChildStep::insert>());
    if (step == ChildStep::subtract) return work(std::integral_constant<ChildStep, ChildStep::subtract>());
  }
  throw InternalError("a step that children of such keys do not have");
}

/// A child in a frame, and what belongs to it.
template <class Key>
struct ChildInFrame {
  void* memory = nullptr;  ///< memory of the frame: shape.bytes<Key>() bytes of it are the child's
  ChildShape shape;
  std::uint32_t number = 0;
  ChildDirectoryView<Key> directory{};

  [[nodiscard]] WARPMER_HD Slots<Key> slots() const { return Slots<Key>::in(memory, shape.slots()); }
};

/// The outcome of one operation in one step.
struct ChildOutcome {
  bool is_mine = false;       ///< the child's, and not done yet
  bool is_done = false;       ///< nothing is left to do
  bool is_new = false;        ///< it took a slot
  std::uint32_t missing = 0;  ///< what was to be taken off the key's count, and was not there
};

template <Tile T>
class ChildTable {
 public:
  using Key = typename T::Key;
  using Items = ChildItems<Key>;

  WARPMER_HD explicit ChildTable(const ChildInFrame<Key>& child)
      : child_(child), scheme_(child.slots(), child.shape.buckets, child.shape.seed) {}

  /// Serves an operation of a batch, unless it is another child's, or done.
  template <ChildStep kStep>
  WARPMER_HD ChildOutcome serve(const T& tile, const typename Items::Update& update) const {
    const Key key = Items::key_of(update);
    if (key == kEmptyKey<Key> || !child_.directory.belongs(key, child_.number)) return {};
    if constexpr (kStep == ChildStep::erase) {
      const std::ptrdiff_t slot = scheme_.find(tile, key);
      if (slot >= 0) tile.store(child_.slots().at(static_cast<std::size_t>(slot)), 0, 0);
      return {true, true};
    } else if constexpr (kStep == ChildStep::subtract) {
      ChildOutcome outcome{true, true};
      outcome.missing = Items::count_of(update) - take_off(tile, key, Items::count_of(update));
      return outcome;
    } else {
      const std::uint32_t count = Items::count_of(update);
      return outcome_of(kStep == ChildStep::place   ? scheme_.place(tile, key)
                        : kStep == ChildStep::count ? scheme_.add(tile, key, count)
                                                    : scheme_.insert(tile, key, count));
    }
  }

  /// True when a query is not answered yet.
  [[nodiscard]] WARPMER_HD static bool is_asked(Key key) { return key != kEmptyKey<Key>; }
  /// Returns the key's value; 0: it is not there.
  [[nodiscard]] WARPMER_HD std::uint32_t find(const T& tile, Key key) const {
    return scheme_.find_with_count(tile, key).count;
  }

  /// True when what a slot of a child's image holds is to be carried over when the child is rebuilt or
  /// halved: neither what was erased, nor what tiles that placed the same key at once have left.
  [[nodiscard]] WARPMER_HD bool takes_over(const Slot<Key>& entry) const {
    return entry.key != kEmptyKey<Key> && entry.count > 0 &&
           child_.directory.belongs(entry.key, child_.number);
  }
  WARPMER_HD ChildOutcome take_over(const T& tile, const Slot<Key>& entry) const {
    return outcome_of(scheme_.insert(tile, entry.key, entry.count));
  }

 private:
  /// Takes up to `n` off a key's count. Returns how much that was.
  WARPMER_HD std::uint32_t take_off(const T& tile, Key key, std::uint32_t n) const {
    const Found found = scheme_.find_with_count(tile, key);
    if (found.slot < 0) return 0;
    const std::uint32_t taken = found.count < n ? found.count : n;
    tile.store(child_.slots().at(static_cast<std::size_t>(found.slot)), 0, found.count - taken);
    return taken;
  }
  WARPMER_HD static ChildOutcome outcome_of(const Insertion& insertion) {
    return {true, insertion.placed, insertion.is_new};
  }

  ChildInFrame<Key> child_;
  ChildScheme<T> scheme_;
};

/// The outcome of the work on a child in its frame, since it was asked last.
struct ChildReport {
  std::uint64_t left = 0;    ///< operations, or entries carried over, that found no room
  std::uint64_t filled = 0;  ///< slots that were taken
  std::uint64_t found = 0;   ///< queries answered with a value

  /// Notes what became of an operation of the child, in its last step.
  WARPMER_HD void note(const ChildOutcome& outcome) {
    left += outcome.is_done ? 0 : 1;
    filled += outcome.is_new ? 1 : 0;
  }
};

}  // namespace warpmer::table
