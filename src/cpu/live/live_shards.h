#pragma once
/// The shards of a live table: strings, and what has changed since they were made.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend/live/live_table.h"
#include "base/byte_room.h"
#include "cpu/live/change_table.h"
#include "cpu/live/live_budget.h"
#include "cpu/live/shard_folder.h"
#include "groups/shard_bits.h"
#include "groups/shard_encoder.h"
#include "kmer/minimizer.h"

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

template <class Key>
struct LiveShard {
  // Held by one thread to change what follows, by several to read it. Who has seen by `moment` that strings
  // are the same and that there are no changes needs no lock.
  mutable std::shared_mutex mutex;
  std::shared_ptr<const FoldedStrings> folded;  ///< null: strings are those of the base, if there is one
  std::unique_ptr<ChangeTable<Key>> changes;    ///< null: none
  LiveBytes change_bytes;
  std::size_t reserved = 0;  ///< keys for which additions under way have room

  [[nodiscard]] ShardMoment moment() const {
    const std::uint64_t now = moment_.load(std::memory_order_acquire);
    return {now / 2, now % 2 != 0};
  }
  void set_moment(ShardMoment now) {
    moment_.store(2 * now.folds + (now.has_changes ? 1 : 0), std::memory_order_release);
  }

 private:
  std::atomic<std::uint64_t> moment_{0};
};

/// Makes an empty table of changes.
template <class Key>
std::unique_ptr<ChangeTable<Key>> make_change_table(const Kernels& kernels, backend::LiveScheme scheme,
                                                    std::uint32_t k);
/// Says which tables these are, and why.
std::string describe_live(backend::LiveScheme scheme);

/// All shards, with the memory that they may take. What it does with a shard is done under its lock, which
/// the caller holds, unless the text says that it takes it.
template <class Key>
class LiveShards {
 public:
  static constexpr std::uint32_t kShards = std::uint32_t{1} << kShardBits;
  using Shard = LiveShard<Key>;

  LiveShards(const Kernels& kernels, const backend::LiveTablePlan& plan, LiveBudget& budget)
      : kernels_(kernels),
        plan_(plan),
        budget_(budget),
        shape_(plan.kmers.k),
        lengths_(groups::make_length_table(shape_.flank_bases())),
        shards_(kShards) {
    for (Shard& shard : shards_) shard.change_bytes = LiveBytes(budget, 0);
  }

  [[nodiscard]] Shard& operator[](std::uint32_t number) { return shards_[number]; }
  [[nodiscard]] const Shard& operator[](std::uint32_t number) const { return shards_[number]; }

  /// Returns the strings of a shard. InputError when they are the base's and damaged.
  [[nodiscard]] groups::ShardBits strings(std::uint32_t number) const {
    const Shard& shard = shards_[number];
    if (shard.folded != nullptr) return bits_of(shard.folded->shard);
    return plan_.base != nullptr ? plan_.base->strings(number) : no_strings();
  }
  /// Returns the strings of a shard that is as the table began with it, or nothing; needs no lock.
  [[nodiscard]] std::optional<groups::ShardBits> untouched_strings(std::uint32_t number) const {
    const ShardMoment now = shards_[number].moment();
    if (plan_.base == nullptr || now.folds > 0 || now.has_changes) return std::nullopt;
    return plan_.base->strings(number);
  }
  [[nodiscard]] groups::ShardBits no_strings() const { return {shape_, {}, kNoWords, lengths_.data()}; }
  [[nodiscard]] std::uint64_t string_kmers(std::uint32_t number) const {
    const Shard& shard = shards_[number];
    if (shard.folded != nullptr) return shard.folded->shard.sizes.kmers;
    return plan_.base != nullptr ? plan_.base->kmers(number) : 0;
  }

  /// Returns what an index says of the strings.
  [[nodiscard]] groups::ShardSizes sizes(std::uint32_t number) const {
    const Shard& shard = shards_[number];
    if (shard.folded != nullptr) return shard.folded->shard.sizes;
    return plan_.base != nullptr ? plan_.base->sizes(number) : groups::ShardSizes{};
  }

  /// Sees to it that so many k-mers can be added or removed; takes the lock. False: there is no memory for
  /// `wanted` more bytes until other shards have been folded.
  [[nodiscard]] bool reserve(std::uint32_t number, std::size_t kmers, LiveUse use, ShardFolder<Key>& folder,
                             std::uint64_t& wanted) {
    Shard& shard = shards_[number];
    const std::lock_guard lock(shard.mutex);
    if (is_large(number)) fold(number, folder);
    if (!shard.changes) shard.changes = make_change_table<Key>(kernels_, plan_.scheme, plan_.kmers.k);
    if (!shard.changes->has_room(shard.reserved + kmers)) {
      // At least half as much again, so that few keys are moved often.
      const std::size_t more = std::max(shard.reserved + kmers, shard.changes->size() / 2);
      if (!grow(shard, more, use, wanted)) {
        if (!can_shrink(number)) return false;
        fold(number, folder);
        if (!grow(shard, shard.reserved + kmers, use, wanted)) return false;
      }
    }
    shard.reserved += kmers;
    return true;
  }

  /// Does so beyond the budget, too, by what one shard's k-mers of a batch take; takes the lock. Returns
  /// their number.
  std::size_t reserve_anyway(std::uint32_t number, std::size_t kmers) {
    Shard& shard = shards_[number];
    const std::lock_guard lock(shard.mutex);
    if (!shard.changes) shard.changes = make_change_table<Key>(kernels_, plan_.scheme, plan_.kmers.k);
    if (!shard.changes->has_room(shard.reserved + kmers)) shard.changes->make_room(shard.reserved + kmers);
    shard.change_bytes.set(shard.changes->memory_bytes());
    shard.reserved += kmers;
    return kmers;
  }

  /// Folds a shard if that makes memory free, and gives back room that is not reserved any more; takes the
  /// lock.
  void shrink(std::uint32_t number, ShardFolder<Key>& folder) {
    Shard& shard = shards_[number];
    const std::lock_guard lock(shard.mutex);
    if (can_shrink(number)) fold(number, folder);
    if (!shard.changes) return;
    if (shard.changes->size() + shard.reserved == 0) {
      shard.changes.reset();
      shard.change_bytes.set(0);
      return;
    }
    if (shard.changes->bytes_with(shard.reserved) >= shard.changes->memory_bytes()) return;
    shard.changes->make_room(shard.reserved);
    shard.change_bytes.set(shard.changes->memory_bytes());
  }

 private:
  /// Changes that there are for each k-mer in strings when a shard is folded, if they are not few.
  static constexpr double kMostChanges = 0.5;
  /// Bytes that strings take for each k-mer, about, where k-mers have neighbours.
  static constexpr double kStringBytes = 1.5;
  /// Bytes that a fold has to free for each byte of strings that are made anew.
  static constexpr double kLeastFreed = 1.0 / 16;
  /// The words that lookups may read of a shard without strings.
  static constexpr std::uint64_t kNoWords[kReadAheadWords + 8] = {};

  [[nodiscard]] groups::ShardBits bits_of(const groups::EncodedShard& shard) const {
    if (shard.payload.empty()) return no_strings();
    return {shape_, shard.sizes, shard.payload.data(), lengths_.data()};
  }

  [[nodiscard]] bool is_large(std::uint32_t number) const {
    const Shard& shard = shards_[number];
    const auto changes = static_cast<double>(shard.changes ? shard.changes->size() : 0);
    return changes > 0 && changes >= static_cast<double>(plan_.fold_kmers) &&
           changes >= kMostChanges * static_cast<double>(string_kmers(number));
  }
  [[nodiscard]] bool can_shrink(std::uint32_t number) const {
    const Shard& shard = shards_[number];
    if (!shard.changes || shard.changes->size() == 0) return false;
    // It is not worth while to make strings anew for little. Those of the base take no memory until they are
    // folded.
    const std::uint64_t string_bytes = shard.folded ? shard.folded->bytes.bytes() : 0;
    const std::uint64_t more = shard.changes->size() + (shard.folded ? 0 : string_kmers(number));
    return static_cast<double>(shard.change_bytes.bytes()) >
           kStringBytes * static_cast<double>(more) + kLeastFreed * static_cast<double>(string_bytes);
  }

  [[nodiscard]] static bool grow(Shard& shard, std::size_t more, LiveUse use, std::uint64_t& wanted) {
    const std::uint64_t before = shard.change_bytes.bytes(), bytes = shard.changes->bytes_with(more);
    // Both are there while keys move.
    if (!shard.change_bytes.try_set(before + bytes, use)) {
      wanted = bytes;
      return false;
    }
    shard.changes->make_room(more);
    shard.change_bytes.set(shard.changes->memory_bytes());
    return true;
  }

  void fold(std::uint32_t number, ShardFolder<Key>& folder) {
    Shard& shard = shards_[number];
    const std::uint64_t kmers = string_kmers(number);
    const ByteRoom::Held room(budget_.folding_room(),
                              ShardFolder<Key>::bytes_for(kmers, shard.changes->size()));
    backend::Tally tally;
    groups::EncodedShard folded = folder.fold(strings(number), kmers, shard.changes.get(), tally);
    const std::uint64_t bytes = folded.payload.capacity() * sizeof(std::uint64_t) + sizeof(FoldedStrings);
    auto fresh = make_change_table<Key>(kernels_, plan_.scheme, plan_.kmers.k);
    if (shard.reserved > 0) fresh->make_room(shard.reserved);
    if (folded.sizes.kmers == 0 && plan_.base == nullptr) {
      shard.folded.reset();
    } else {
      shard.folded.reset(new FoldedStrings{std::move(folded), LiveBytes(budget_, bytes)});
    }
    shard.changes = std::move(fresh);
    shard.change_bytes.set(shard.changes->memory_bytes());
    shard.set_moment({shard.moment().folds + 1, false});
  }

  const Kernels& kernels_;
  const backend::LiveTablePlan plan_;
  LiveBudget& budget_;
  const groups::GroupShape shape_;
  const std::vector<groups::FlankLengths> lengths_;
  std::vector<Shard> shards_;
};

}  // namespace warpmer::cpu
