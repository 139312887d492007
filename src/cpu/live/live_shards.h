#pragma once
/// The shards of a live table: strings, what has changed since they were made, and what is pending.

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
#include "base/buffer_pool.h"
#include "base/byte_room.h"
#include "cpu/live/change_table.h"
#include "cpu/live/live_budget.h"
#include "cpu/live/live_shard.h"
#include "cpu/live/pending_super_kmers.h"
#include "cpu/live/shard_folder.h"
#include "cpu/live/word_kmers.h"
#include "groups/shard_bits.h"
#include "groups/shard_encoder.h"
#include "index/frozen_shard.h"
#include "index/index_file.h"
#include "kmer/minimizer.h"

namespace warpmer::cpu {

/// Makes an empty table of changes.
template <class Key>
std::unique_ptr<ChangeTable<Key>> make_change_table(const Kernels& kernels, backend::LiveScheme scheme,
                                                    std::uint32_t k);
/// Says which tables these are, and why.
std::string describe_live(backend::LiveScheme scheme);

/// All shards, with the memory that they may take. What it does with a shard is done under both its locks,
/// which the caller holds, unless the text says that it takes them. Who holds locks may wait for a worker,
/// and a worker for memory to fold in; none of them waits for a lock.
template <class Key, int Words>
class LiveShards {
 public:
  static constexpr std::uint32_t kShards = std::uint32_t{1} << kShardBits;
  using Shard = LiveShard<Key, Words>;
  using Content = ShardContent<Key, Words>;
  using Folder = ShardFolder<Key, Words>;

  LiveShards(const Kernels& kernels, const backend::LiveTablePlan& plan, const index::IndexParams& params,
             LiveBudget& budget)
      : kernels_(kernels),
        plan_(plan),
        params_(params),
        budget_(budget),
        shape_(plan.kmers.k),
        lengths_(groups::make_length_table(shape_.flank_bases())),
        format_(plan.kmers.k),
        shards_(kShards) {
    for (std::uint32_t number = 0; number < kShards; ++number) {
      Shard& shard = shards_[number];
      if (plan.base != nullptr) shard.string_kmers = plan.base->kmers(number);
      shard.changes.bytes = LiveBytes(budget, 0);
      shard.pending.bytes = LiveBytes(budget, 0);
    }
  }

  [[nodiscard]] Shard& operator[](std::uint32_t number) { return shards_[number]; }
  [[nodiscard]] const Shard& operator[](std::uint32_t number) const { return shards_[number]; }

  /// Returns the shard that a thread which goes through shards begins with: the golden section of all further
  /// on than the one before. Threads that go through them in the same order get behind each other and stay
  /// there, and wait for one shard after the other.
  [[nodiscard]] std::uint32_t next_first() { return next_first_.fetch_add(2531) % kShards; }
  /// Calls `work(number)` for some shards; those that others are folding come last, in `busy`, which is
  /// memory to work in.
  template <class Numbers, class Work>
  void for_each_free_first(const Numbers& numbers, std::vector<std::uint16_t>& busy, Work&& work) const {
    busy.clear();
    for (const std::uint16_t number : numbers) {
      if (is_folding(number)) {
        busy.push_back(number);
      } else {
        work(number);
      }
    }
    for (const std::uint16_t number : busy) work(number);
  }

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

  /// True when words of so many k-mers, that are added to a shard, are pending until they are many or
  /// somebody asks. Not so where strings are those of the base: these take no memory until they are folded,
  /// and that may have to be at any time. Nor so many of one shard that counting them takes much memory:
  /// nearly all are the same then. Needs no lock, and does not become false.
  [[nodiscard]] bool can_be_pending(std::uint32_t number, std::size_t words, std::uint64_t kmers) const {
    if (Folder::bytes_to_count(format_.bytes_for(words, kmers)) > budget_.folding_room().bytes() / 4)
      return false;
    return plan_.base == nullptr || shards_[number].moment().folds > 0 || plan_.base->kmers(number) == 0;
  }

  /// Sees to it that words of so many k-mers can be pending; takes the locks that it needs. Returns the bytes
  /// that are reserved. Nothing: there is no memory for `wanted` more bytes until other shards have been
  /// folded.
  [[nodiscard]] std::optional<std::size_t> reserve_words(std::uint32_t number, std::size_t words,
                                                         std::uint64_t kmers, std::uint64_t& wanted) {
    Shard& shard = shards_[number];
    const std::size_t bytes = format_.bytes_for(words, kmers);
    std::unique_lock lock(shard.mutex);
    if (is_large(number)) {
      lock.unlock();
      fold_if_large(number);
      lock.lock();
    }
    if (!can_be_folded_with(number, 0, bytes, LiveUse::addition, wanted)) return std::nullopt;
    if (reserve_bytes(shard, bytes, wanted)) return bytes;
    if (!can_shrink(number)) return std::nullopt;
    lock.unlock();
    shrink(number);
    lock.lock();
    return reserve_bytes(shard, bytes, wanted) ? std::optional(bytes) : std::nullopt;
  }

  /// Sees to it that so many k-mers can be changes, or removed; takes the locks. False: there is no memory
  /// for `wanted` more bytes until other shards have been folded.
  [[nodiscard]] bool reserve_kmers(std::uint32_t number, std::size_t kmers, LiveUse use,
                                   std::uint64_t& wanted) {
    Shard& shard = shards_[number];
    WholeShardLock lock(shard);
    if (is_large(number)) fold_beside_additions(number, lock);
    settle(number, use);
    if (!can_be_folded_with(number, kmers, 0, use, wanted)) return false;
    if (!shard.changes.store) shard.changes.store = no_changes();
    if (reserve(shard.changes, kmers, use, wanted)) return true;
    if (!can_shrink(number)) return false;
    fold(number);
    return reserve(shard.changes, kmers, use, wanted);
  }

  /// Does so beyond the budget, too, by what one shard's k-mers of a batch take; takes the locks. Returns
  /// their number.
  std::size_t reserve_anyway(std::uint32_t number, std::size_t kmers) {
    Shard& shard = shards_[number];
    const WholeShardLock lock(shard);
    settle(number, LiveUse::removal);
    auto& changes = shard.changes;
    if (!changes.store) changes.store = no_changes();
    if (!changes.store->has_room(changes.reserved + kmers))
      changes.store->make_room(changes.reserved + kmers);
    changes.bytes.set(changes.store->memory_bytes());
    changes.reserved += kmers;
    return kmers;
  }

  /// Makes changes of what is pending, or strings if it is much or changes find no room: so that the shard
  /// can be asked.
  void settle(std::uint32_t number, LiveUse use) {
    Shard& shard = shards_[number];
    if (shard.can_be_asked()) return;
    if (is_to_be_folded(number) || !has_room_for_changes(shard, shard.pending.store->kmers(), use))
      return fold(number);
    auto& pending = *shard.pending.store;
    const auto worker = workers_.take();
    pending.for_each_block([&](const auto& words) {
      HashList<Key> list{};
      worker->kmers.append(words, list);
      shard.changes.store->add(list, worker->lists);
    });
    pending.clear();
  }
  /// Returns `question()`, asked of a shard in which nothing is pending; takes the locks that it needs.
  template <class Question>
  auto ask(std::uint32_t number, Question&& question) {
    Shard& shard = shards_[number];
    {
      const std::shared_lock lock(shard.mutex);
      if (shard.can_be_asked()) return question();
    }
    WholeShardLock lock(shard);
    if (is_to_be_folded(number)) fold_beside_additions(number, lock);
    settle(number, LiveUse::addition);
    return question();
  }

  /// Folds a shard if that makes memory free, and gives back room that is not reserved any more; takes the
  /// locks.
  void shrink(std::uint32_t number) {
    Shard& shard = shards_[number];
    const WholeShardLock lock(shard);
    if (can_shrink(number)) fold(number);
    give_back(shard.changes);
    give_back(shard.pending);
    if (shard.changes.size() + shard.changes.reserved == 0) shard.changes = {nullptr, LiveBytes(budget_, 0)};
    if (shard.pending.size() + shard.pending.reserved == 0) shard.pending = {nullptr, LiveBytes(budget_, 0)};
  }

  /// Returns the shard as an index has it, with what is in all its parts; takes the locks.
  [[nodiscard]] index::FrozenShard freeze(std::uint32_t number, backend::Tally& tally,
                                          std::vector<std::uint64_t>&& spent) {
    groups::EncodedShard shard;
    read_whole(number, [&](Folder& folder, const Content& content) {
      if (content.changes != nullptr || content.pending != nullptr) {
        shard = folder.fold(content, tally, std::move(spent));
        return;
      }
      folder.note(content, tally);
      shard.sizes = sizes(number);
      shard.payload = std::move(spent);
      shard.payload.assign(content.strings.words, content.strings.words + shard.sizes.words);
    });
    return {{}, std::move(shard.payload), {}, std::nullopt, shard.sizes};
  }
  /// Takes note of all counts of a shard; takes the locks.
  void note(std::uint32_t number, backend::Tally& tally) {
    read_whole(number, [&](Folder& folder, const Content& content) { folder.note(content, tally); });
  }

 private:
  /// The memory of a thread that folds and counts.
  struct Worker {
    Worker(const Kernels& kernels, const index::IndexParams& params)
        : folder(kernels.shard<Key, Words>(), params), kmers(kernels, params.k) {}

    Folder folder;
    WordKmers<Key, Words> kmers;
    TableLists<Key> lists;
  };

  /// Changes that there are for each k-mer in strings when a shard is folded, if they are not few.
  static constexpr double kMostChanges = 0.5;
  /// Changes and pending k-mers for each k-mer in strings from which on a shard that is asked is folded. To
  /// make changes of that many takes as long, and then they have to be looked up.
  static constexpr double kMostAsked = 0.25;
  /// K-mers that are pending for each k-mer in strings when a shard is folded, if they are not few. They take
  /// 1 to 2 bytes each. Adding 100x reads of 4.6 Mbp takes 13.9, 9.2, 6.9 and 6.1 s of CPU time and 172, 232,
  /// 295 and 331 MB with 2, 4, 8 and 16; counting them takes 4.4 s. Where memory is plenty: twice as many.
  static constexpr double kMostPending = 8;
  static constexpr double kMostPendingInPlenty = 2 * kMostPending;
  /// Memory is plenty while what is pending in a shard takes less than one of so many parts of its share.
  static constexpr std::uint64_t kPlenty = 8;
  /// Bytes that strings take for each k-mer, about, where k-mers have neighbours.
  static constexpr double kStringBytes = 1.5;
  /// Bytes that strings take for each byte of what is pending, about: more where nothing comes twice, less
  /// where most does.
  static constexpr double kStringsOfPending = 0.5;
  /// Bytes that a fold has to free for each byte of strings that are made anew.
  static constexpr double kLeastFreed = 1.0 / 16;
  /// The words that lookups may read of a shard without strings.
  static constexpr std::uint64_t kNoWords[kReadAheadWords + 8] = {};

  /// True when somebody is folding a shard just now.
  [[nodiscard]] bool is_folding(std::uint32_t number) const {
    return !std::unique_lock(shards_[number].folding, std::try_to_lock).owns_lock();
  }
  [[nodiscard]] std::unique_ptr<PendingSuperKmers<Words>> no_words() const {
    return std::make_unique<PendingSuperKmers<Words>>(plan_.kmers.k);
  }
  [[nodiscard]] std::unique_ptr<ChangeTable<Key>> no_changes() const {
    return make_change_table<Key>(kernels_, plan_.scheme, plan_.kmers.k);
  }
  [[nodiscard]] groups::ShardBits bits_of(const groups::EncodedShard& shard) const {
    if (shard.payload.empty()) return no_strings();
    return {shape_, shard.sizes, shard.payload.data(), lengths_.data()};
  }
  /// Returns what an index says of the strings.
  [[nodiscard]] groups::ShardSizes sizes(std::uint32_t number) const {
    const Shard& shard = shards_[number];
    if (shard.folded != nullptr) return shard.folded->shard.sizes;
    return plan_.base != nullptr ? plan_.base->sizes(number) : groups::ShardSizes{};
  }
  /// Returns the strings of a shard, and what some of its parts have on top of them.
  [[nodiscard]] Content content_of(std::uint32_t number, const GrowingParts<Key, Words>& parts) const {
    return {strings(number), shards_[number].string_kmers, sizes(number).large_groups > 0,
            parts.changes.size() > 0 ? parts.changes.store.get() : nullptr,
            parts.pending.size() > 0 ? parts.pending.store.get() : nullptr};
  }

  [[nodiscard]] bool are_many(std::uint32_t number, std::uint64_t kmers, double most) const {
    return kmers > 0 && kmers >= plan_.fold_kmers &&
           static_cast<double>(kmers) >= most * static_cast<double>(shards_[number].string_kmers);
  }
  /// True when a shard is folded before more is added to it.
  [[nodiscard]] bool is_large(std::uint32_t number) const {
    const Shard& shard = shards_[number];
    if (are_many(number, shard.changes.size(), kMostChanges)) return true;
    if (shard.pending.size() == 0) return false;
    const bool is_plenty = shard.pending.size() < budget_.most() / (kPlenty * kShards);
    return are_many(number, shard.pending.store->kmers(), is_plenty ? kMostPendingInPlenty : kMostPending) ||
           Folder::bytes_to_count(shard.pending.size()) > budget_.folding_room().bytes() / 2;
  }
  /// True when a shard is folded before it is asked.
  [[nodiscard]] bool is_to_be_folded(std::uint32_t number) const {
    const Shard& shard = shards_[number];
    if (!shard.taken.empty()) return true;  // a fold has failed
    return shard.pending.size() > 0 &&
           are_many(number, shard.changes.size() + shard.pending.store->kmers(), kMostAsked);
  }
  [[nodiscard]] bool can_shrink(std::uint32_t number) const {
    const Shard& shard = shards_[number];
    if (!shard.taken.empty()) return true;  // when the fold that is under way has ended
    const std::uint64_t changes = shard.changes.size(), pending = shard.pending.size();
    if (changes + pending == 0) return false;
    // It is not worth while to make strings anew for little. Those of the base take no memory until they are
    // folded.
    const std::uint64_t string_bytes = shard.folded ? shard.folded->bytes.bytes() : 0;
    const std::uint64_t more = changes + (shard.folded ? 0 : shard.string_kmers);
    return static_cast<double>(shard.changes.bytes.bytes() + shard.pending.bytes.bytes()) >
           kStringBytes * static_cast<double>(more) + kStringsOfPending * static_cast<double>(pending) +
               kLeastFreed * static_cast<double>(string_bytes);
  }

  /// Sets memory aside to fold a shard that has a large group, with so many changes and bytes of pending
  /// words more: of other shards a fold takes little. False: there is no memory for `wanted` more bytes.
  bool can_be_folded_with(std::uint32_t number, std::size_t changes, std::size_t pending, LiveUse use,
                          std::uint64_t& wanted) {
    const Shard& shard = shards_[number];
    if (shard.string_kmers <= kPartEntries || sizes(number).large_groups == 0) return true;
    const std::uint64_t bytes =
        Folder::bytes_to_merge(shard.string_kmers,
                               shard.taken.changes.size() + shard.changes.size() + changes, true) +
        Folder::bytes_to_count(shard.taken.pending.size() + shard.pending.size() + pending);
    if (budget_.set_aside_for_folding(bytes, use)) return true;
    wanted = bytes - std::min(bytes, budget_.folding_room().bytes());
    return false;
  }
  /// Keeps room for `more` in a part. False: there is no memory for `wanted` more bytes.
  template <class Store>
  [[nodiscard]] static bool reserve(GrowingPart<Store>& part, std::size_t more, LiveUse use,
                                    std::uint64_t& wanted) {
    const std::size_t room = part.reserved + more;
    // At least half as much again, so that what is there is moved seldom.
    if (!part.store->has_room(room) && !grow(part, std::max(room, part.size() / 2), use, wanted))
      return false;
    part.reserved = room;
    return true;
  }
  [[nodiscard]] bool reserve_bytes(Shard& shard, std::size_t bytes, std::uint64_t& wanted) const {
    if (!shard.pending.store) shard.pending.store = no_words();
    return reserve(shard.pending, bytes, LiveUse::addition, wanted);
  }
  template <class Store>
  [[nodiscard]] static bool grow(GrowingPart<Store>& part, std::size_t more, LiveUse use,
                                 std::uint64_t& wanted) {
    const std::uint64_t bytes = part.store->bytes_with(more);
    // Both are there while it grows.
    if (!part.bytes.try_set(part.bytes.bytes() + bytes, use)) {
      wanted = bytes;
      return false;
    }
    part.store->make_room(more);
    part.bytes.set(part.store->memory_bytes());
    return true;
  }
  /// Sees to it that so many k-mers more find room among changes.
  [[nodiscard]] bool has_room_for_changes(Shard& shard, std::size_t kmers, LiveUse use) const {
    auto& changes = shard.changes;
    if (!changes.store) changes.store = no_changes();
    const std::size_t room = changes.reserved + kmers;
    std::uint64_t wanted = 0;
    return changes.store->has_room(room) || grow(changes, std::max(room, changes.size() / 2), use, wanted);
  }
  /// Gives back what is not needed for what is there and what is reserved.
  template <class Store>
  static void give_back(GrowingPart<Store>& part) {
    if (!part.store || part.store->bytes_with(part.reserved) >= part.store->memory_bytes()) return;
    part.store->make_room(part.reserved);
    part.bytes.set(part.store->memory_bytes());
  }

  /// Calls `work(folder)` when there is memory to fold in.
  template <class Work>
  void with_folder(const Content& content, Work&& work) {
    const auto worker = workers_.take();
    const ByteRoom::Held room(budget_.folding_room(), Folder::bytes_for(content));
    work(worker->folder);
  }
  /// Calls `work(folder, content)` for all that a shard has; takes the locks. Makes strings of what is
  /// pending before if that is much, so that it is not counted only to be told.
  template <class Work>
  void read_whole(std::uint32_t number, Work&& work) {
    Shard& shard = shards_[number];
    const std::lock_guard folding(shard.folding);
    {
      const std::lock_guard lock(shard.mutex);
      if (is_to_be_folded(number)) fold(number);
    }
    const std::shared_lock lock(shard.mutex);
    const Content content = content_of(number, shard);
    with_folder(content, [&](Folder& folder) { work(folder, content); });
  }

  /// Folds a shard before more is added to it, if it is large still; takes the locks.
  void fold_if_large(std::uint32_t number) {
    WholeShardLock lock(shards_[number]);
    if (is_large(number)) fold_beside_additions(number, lock);
  }
  /// Folds a shard, and lets go of its mutex meanwhile: what is added then stays as it is.
  void fold_beside_additions(std::uint32_t number, WholeShardLock<Shard>& lock) {
    Shard& shard = shards_[number];
    if (!shard.taken.empty()) return fold(number);
    const Content content = take(number);
    set_strings(shard, lock.beside_others([&] { return folded(content); }));
  }
  void fold(std::uint32_t number) {
    Shard& shard = shards_[number];
    if (!shard.taken.empty()) set_strings(shard, folded(content_of(number, shard.taken)));
    set_strings(shard, folded(take(number)));
  }
  /// Takes what is not in strings to make strings of it; returns it, with these. Room that is reserved stays.
  Content take(std::uint32_t number) {
    Shard& shard = shards_[number];
    const Content content = content_of(number, shard);
    GrowingParts<Key, Words> fresh;
    if (shard.changes.store) fresh.changes.store = no_changes();
    if (shard.pending.store) fresh.pending.store = no_words();
    renew(shard.changes, fresh.changes);
    renew(shard.pending, fresh.pending);
    shard.taken = std::exchange(static_cast<GrowingParts<Key, Words>&>(shard), std::move(fresh));
    return content;
  }
  /// Gives an empty part the room that is reserved in another one.
  template <class Store>
  void renew(const GrowingPart<Store>& part, GrowingPart<Store>& fresh) const {
    fresh.reserved = part.reserved;
    if (fresh.reserved > 0) fresh.store->make_room(fresh.reserved);
    fresh.bytes = LiveBytes(budget_, fresh.store ? fresh.store->memory_bytes() : 0);
  }
  /// Returns strings of what a shard has.
  [[nodiscard]] groups::EncodedShard folded(const Content& content) {
    backend::Tally tally;
    groups::EncodedShard shard;
    with_folder(content, [&](Folder& folder) { shard = folder.fold(content, tally); });
    return shard;
  }
  /// Makes these the strings of a shard, in which there is what a fold has taken.
  void set_strings(Shard& shard, groups::EncodedShard&& strings) {
    const std::uint64_t kmers = strings.sizes.kmers;
    const std::uint64_t bytes = strings.payload.capacity() * sizeof(std::uint64_t) + sizeof(FoldedStrings);
    if (kmers == 0 && plan_.base == nullptr) {
      shard.folded.reset();
    } else {
      shard.folded.reset(new FoldedStrings{std::move(strings), LiveBytes(budget_, bytes)});
    }
    shard.string_kmers = kmers;
    shard.taken = {};
    shard.note_strings();
  }

  const Kernels& kernels_;
  const backend::LiveTablePlan plan_;
  const index::IndexParams params_;
  LiveBudget& budget_;
  const groups::GroupShape shape_;
  const std::vector<groups::FlankLengths> lengths_;
  const WordFormat<groups::FlankedWord<Words>> format_;
  std::vector<Shard> shards_;
  std::atomic<std::uint32_t> next_first_{0};
  BufferPool<Worker> workers_{[this] { return std::make_unique<Worker>(kernels_, params_); }, plan_.threads};
};

}  // namespace warpmer::cpu
