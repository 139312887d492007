#pragma once
/// A shard of a live table: its parts, its locks, and its moments.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "cpu/live/change_table.h"
#include "cpu/live/live_budget.h"
#include "cpu/live/pending_super_kmers.h"
#include "groups/shard_encoder.h"

namespace warpmer::cpu {

/// Strings that a fold has made.
struct FoldedStrings {
  groups::EncodedShard shard;
  LiveBytes bytes;
};

/// Moments of a shard. They differ when there are other strings, and when changes begin.
struct ShardMoment {
  std::uint64_t folds;
  bool has_changes;
};

/// A part of a shard that grows with the calls that change it: its changes, or what is pending.
template <class Store>
struct GrowingPart {
  std::unique_ptr<Store> store;  ///< null: there is nothing
  LiveBytes bytes;
  std::size_t reserved = 0;  ///< room that is kept for calls under way

  [[nodiscard]] std::size_t size() const { return store ? store->size() : 0; }
};

/// The parts that come on top of strings.
template <class Key, int Words>
struct GrowingParts {
  GrowingPart<ChangeTable<Key>> changes;          ///< its size is in k-mers
  GrowingPart<PendingSuperKmers<Words>> pending;  ///< on top of changes; its size is in bytes

  [[nodiscard]] bool empty() const { return changes.size() + pending.size() == 0; }
};

/// Who changes a shard holds `mutex`; several may hold it to read. Who folds or settles holds `folding`, too,
/// and takes it first. Strings, and what a fold has taken, change under both: so a fold needs only `folding`
/// while it makes strings of these, and others add to the shard meanwhile. Who has seen by `moment` that
/// strings are the same and that there are no changes needs no lock.
template <class Key, int Words>
struct alignas(64) LiveShard : GrowingParts<Key, Words> {
  // A batch is added to nearly all shards, and looks at three lines of the cache of each: its parts, these
  // two,
  mutable std::shared_mutex mutex;
  std::uint64_t string_kmers = 0;  ///< k-mers in strings
  // and the moment.
  mutable std::mutex folding;
  std::shared_ptr<const FoldedStrings> folded;  ///< null: strings are those of the base, if there is one
  GrowingParts<Key, Words> taken;               ///< by a fold that is under way, or has failed

  /// True when nothing is pending, here or in a fold.
  [[nodiscard]] bool can_be_asked() const { return this->pending.size() == 0 && taken.empty(); }

  [[nodiscard]] ShardMoment moment() const {
    const std::uint64_t now = moment_.load(std::memory_order_acquire);
    return {now / 2, now % 2 != 0};
  }
  /// Says that there are other strings.
  void note_strings() { set_moment({moment().folds + 1, !this->empty()}); }
  /// Says that there are changes, or that some are pending.
  void note_changes() {
    if (const ShardMoment now = moment(); !now.has_changes) set_moment({now.folds, true});
  }

 private:
  void set_moment(ShardMoment now) {
    moment_.store(2 * now.folds + (now.has_changes ? 1 : 0), std::memory_order_release);
  }

  std::atomic<std::uint64_t> moment_{0};
};

/// Both locks of a shard.
template <class Shard>
class WholeShardLock {
 public:
  explicit WholeShardLock(const Shard& shard) : folding_(shard.folding), lock_(shard.mutex) {}

  /// Returns `work()`, and lets go of `mutex` meanwhile; after an error it stays so.
  template <class Work>
  auto beside_others(Work&& work) {
    lock_.unlock();
    auto result = work();
    lock_.lock();
    return result;
  }

 private:
  const std::lock_guard<std::mutex> folding_;
  std::unique_lock<std::shared_mutex> lock_;
};

}  // namespace warpmer::cpu
