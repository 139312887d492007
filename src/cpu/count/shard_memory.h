#pragma once
/// Places of the parts of shards: pending words and frozen runs, in memory or in the spill file, so that a
/// session stays within its share of memory. docs/memory.md has the whole picture.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/clock.h"
#include "cpu/count/pending_store.h"
#include "cpu/count/spilled_runs.h"
#include "cpu/count/spilled_words.h"
#include "cpu/count/stage_times.h"
#include "cpu/memory/memory_model.h"
#include "file/spill_file.h"
#include "host/limits.h"
#include "mpi/process_group.h"

namespace warpmer::cpu {

/// `Counting` counts (string_counting.h): it says the type of words, how they become a run, and how all that
/// there is of a shard becomes what the session wants.
template <class Counting>
class ShardMemory {
 public:
  using Word = typename Counting::Word;
  /// The memory that a thread counts shards with.
  struct CountScratch {
    CountScratch(const Kernels& kernels, const backend::CountPlan& plan, StageTimes& stage_times)
        : counting(kernels, plan, stage_times), times(stage_times) {}

    Counting counting;
    Scratch<char> slice;           ///< read back from the spill file
    StageTimes& times;             ///< the thread's
    std::uint64_t held_bytes = 0;  ///< bytes of the session's memory, for counting; see `reserve`
    bool is_in_turn = false;       ///< and holds it for a shard
  };
  /// Bytes that are held for every shard, whatever is in it.
  static constexpr std::uint64_t kShardBytes = 384;

  ShardMemory(const backend::CountPlan& plan, std::uint32_t shards, const MemoryModel& memory)
      : plan_(plan),
        memory_(memory),
        pending_(pool_, shards, plan.kmers.k),
        shards_(shards),
        group_shards_(group_shards(shards, memory.budget())),
        groups_(shards / group_shards_),
        last_groups_begin_(static_cast<std::uint32_t>(groups_.size())) {
    if (plan.spill.is_chosen) file();  // if it cannot do, that is said now
  }

  /// Returns the store that words are appended to.
  [[nodiscard]] PendingStore<Word>& pending() { return pending_; }
  [[nodiscard]] PagePool& pool() { return pool_; }
  [[nodiscard]] const MemoryModel& memory() const { return memory_; }

  // --- While words come in.

  [[nodiscard]] bool over_budget() const {
    const std::uint64_t room = room_for_pending();
    return pool_.bytes_in_use() > room - room / MemoryModel::kLeftPart;
  }

  /// Makes room: takes groups of shards by turn, counts what that makes clearly smaller, and spills the rest.
  void evict(CountScratch& count_scratch) {
    std::call_once(short_of_memory_, host::return_freed_memory_at_once);
    for (std::size_t turn = 0; over_budget() && turn < 2 * groups_.size(); ++turn) {
      const std::uint64_t number = turns_.fetch_add(1);
      const auto group = static_cast<std::uint32_t>(number % groups_.size());
      std::unique_lock lock(groups_[group].mutex, std::defer_lock);
      if (turn >= groups_.size()) {
        lock.lock();  // others are at all that there is: a thread waits for them rather than add to it
      } else if (!lock.try_lock()) {
        continue;
      }
      evict_group(count_scratch, group, number % kTurnsUntried == 0);
    }
    pool_.shrink(room_for_pending());
    trim(count_scratch, MemoryModel::kCounterBytes);
  }

  // --- When all words are in.

  /// Learns how many k-mers the largest shard has. To be called once, before a shard is counted.
  void note_largest() {
    std::uint64_t most = 0;
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) {
      const std::lock_guard lock(groups_[shard / group_shards_].mutex);
      const HeldShard& s = shards_[shard];
      most = std::max(most,
                      pending_.kmers(shard) + s.spilled.kmers + s.run.sizes.kmers + s.spilled_runs.entries);
    }
    most_kmers_ = most;
  }

  /// A thread's turn with a shard. Memory that was reserved for it is given back at the end, but for what
  /// shards of ordinary size take.
  class Turn {
   public:
    Turn(ShardMemory& shard_memory, CountScratch& count_scratch)
        : shard_memory_(shard_memory), count_scratch_(count_scratch) {}
    ~Turn() { shard_memory_.end_turn(count_scratch_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    ShardMemory& shard_memory_;
    CountScratch& count_scratch_;
  };

  /// The parts of a shard that a thread has taken.
  struct TakenShard {
    PendingList<Word> pending;
    SpilledWords spilled;
    index::FrozenShard run;
    SpilledRuns spilled_runs;
  };
  /// All there is of a shard, in the hands of the thread that counts it: words, and runs in which the same
  /// k-mers may be counted.
  class ShardInHand {
   public:
    ShardWords<Word> words;
    index::FrozenShard run;          ///< in memory
    const SpilledRuns spilled_runs;  ///< and of those in the file
    const MemoryModel& memory;

    /// Sees to it that the thread holds so many bytes to count in, in place of what it held.
    void reserve(std::uint64_t bytes) { shard_memory_.reserve(count_scratch_, bytes, shard_); }
    /// Returns the k-mers of the largest shard of all, each as often as it stands in words and runs.
    [[nodiscard]] std::uint64_t most_kmers() const { return shard_memory_.most_kmers_; }
    /// Sees to it that the thread holds all that it may.
    void reserve_all() {
      std::call_once(shard_memory_.short_of_memory_, host::return_freed_memory_at_once);
      shard_memory_.trim(count_scratch_, 0);
      reserve(memory.thread_bytes());
    }
    /// Returns how many of the words that are left a thread is to count at once: those which take `bytes`, of
    /// `word_bytes` that all take.
    [[nodiscard]] std::uint64_t part_of(std::uint64_t bytes, std::uint64_t word_bytes) const {
      return ShardMemory::part_of(words.left(), bytes, word_bytes);
    }
    /// Calls `visit(run)`, which may take it, for each run in the file, one at a time.
    template <class Visit>
    void for_each_spilled_run(Visit&& visit) {
      if (spilled_runs.entries == 0) return;  // there may be no file
      for_each_run(shard_memory_.file(), spilled_runs.last, count_scratch_.times.read_back_seconds, visit);
    }

   private:
    friend class ShardMemory;
    ShardInHand(ShardMemory& shard_memory, CountScratch& count_scratch, std::uint32_t shard,
                TakenShard&& taken)
        : words(shard_memory.pending_.format(), taken.pending, shard_memory.pool_, taken.spilled,
                shard_memory.spill_file_, count_scratch.slice, count_scratch.times.read_back_seconds),
          run(std::move(taken.run)),
          spilled_runs(taken.spilled_runs),
          memory(shard_memory.memory_),
          shard_memory_(shard_memory),
          count_scratch_(count_scratch),
          shard_(shard) {}

    ShardMemory& shard_memory_;
    CountScratch& count_scratch_;
    std::uint32_t shard_;
  };

  /// Counts all there is of a shard, once, during a turn: `count(ShardInHand)` has to do it.
  template <class Count>
  void count(CountScratch& count_scratch, std::uint32_t shard, Count&& count) {
    read_ahead(shard);
    {
      ShardInHand in_hand(*this, count_scratch, shard, take(count_scratch, shard));
      count(in_hand);
    }
    note_counted(shard);
  }

  [[nodiscard]] std::uint64_t early_counts() const { return early_counts_; }
  [[nodiscard]] backend::SpillReport spill_report() const {
    const file::SpillFile* file = spill_file_;
    if (file == nullptr) return {};
    return {file->bytes_written(), spilled_run_bytes_, file->bytes_read()};
  }

 private:
  /// Shards with their pending lists.
  using Lists = std::vector<std::pair<std::uint32_t, PendingList<Word>>>;
  /// Guarded by its group's mutex.
  struct HeldShard {
    SpilledWords spilled;
    index::FrozenShard run;
    std::uint64_t run_bytes = 0;    ///< bytes that the run takes
    std::uint64_t run_entries = 0;  ///< its entries, as Counting has it
    SpilledRuns spilled_runs;
    float gain = -1;  ///< part of the pending bytes that the last early count freed; -1: none yet
  };
  static_assert(sizeof(HeldShard) + 64 <= kShardBytes);
  /// Shards that are spilled together.
  struct SpillGroup {
    std::mutex mutex;
    SpilledExtents extents;
    std::atomic<bool> is_being_read{false};
    std::atomic<std::uint32_t> counted_shards{0};
  };

  /// The spill file is written about so many bytes at a time.
  static constexpr std::uint64_t kWriteBytes = std::uint64_t{4} << 20;
  static constexpr std::uint32_t kMostGroupShards = 64;
  /// One shard of every so many groups is counted early to see what that frees. Prime, so that it is not
  /// always the same group.
  static constexpr std::uint64_t kTurnsUntried = 61;
  /// A shard with so many times the mean is tried, too: a k-mer that comes very often is soon counted.
  static constexpr std::uint64_t kHot = 8;

  /// Returns how many shards a group has: when its turn has come, they have twice the mean of what is
  /// pending.
  static std::uint32_t group_shards(std::uint32_t shards, std::uint64_t budget) {
    std::uint32_t n = 1;
    while (n < std::min(kMostGroupShards, shards) && 4 * n * (budget / shards) <= kWriteBytes) n *= 2;
    return n;
  }

  [[nodiscard]] std::uint64_t room_for_pending() const {
    const std::uint64_t runs = run_bytes_;
    return memory_.budget() > runs ? memory_.budget() - runs : 0;
  }

  file::SpillFile& file() {
    std::call_once(file_made_, [&] {
      made_file_ = std::make_unique<file::SpillFile>(plan_.spill.directory, plan_.spill.input_read);
      made_file_->leave_cache();
      spill_file_ = made_file_.get();
    });
    return *made_file_;
  }

  // --- Early counting and spilling. The group's mutex is held.

  void evict_group(CountScratch& count_scratch, std::uint32_t group, bool is_trial) {
    const std::uint32_t begin = group * group_shards_, end = begin + group_shards_;
    std::uint32_t fullest = begin;
    for (std::uint32_t shard = begin; shard < end; ++shard) {
      if (pending_.pages(shard) > pending_.pages(fullest)) fullest = shard;
    }
    Lists rest;
    for (std::uint32_t shard = begin; shard < end; ++shard) {
      PendingList<Word> list = pending_.take(shard);
      if (list.pages > 0 && counts_early(shard, list, is_trial && shard == fullest))
        count_early(count_scratch, shard, list);
      if (list.pages > 0) rest.emplace_back(shard, list);
    }
    spill(count_scratch, group, std::move(rest));
    if (run_bytes_ > memory_.budget() / 2) spill_runs(count_scratch, group);
  }

  [[nodiscard]] bool counts_early(std::uint32_t shard, const PendingList<Word>& list, bool is_trial) const {
    const HeldShard& s = shards_[shard];
    if (!memory_.can_grow_early(s.run_entries, list.kmers)) return false;
    const std::uint64_t mean =
        pool_.bytes_in_use() / PagePool::kPageBytes * plan_.ranks->size() / shards_.size();
    const bool is_hot = s.gain < 0 && list.pages > kHot * (mean + 1);
    return is_trial || is_hot || (s.gain < 0 ? gain_.load() : s.gain) >= MemoryModel::kLeastGain;
  }

  /// Counts a list into the shard's run, a chunk at a time for as long as that frees memory, and the run does
  /// not become too large for it. Words left in `list` are not counted.
  void count_early(CountScratch& count_scratch, std::uint32_t shard, PendingList<Word>& list) {
    HeldShard& s = shards_[shard];
    do {
      const std::uint64_t run_before = s.run_bytes;
      const std::uint64_t word_bytes = memory_.word_bytes(list.words, list.kmers);
      const std::uint64_t bytes = memory_.early_bytes_at_once(word_bytes, s.run_entries);
      ShardWords<Word> chunk(pending_.format(), std::exchange(list, {}), pool_, {}, nullptr,
                             count_scratch.slice, count_scratch.times.read_back_seconds);
      chunk.begin_chunk(part_of(chunk.left(), bytes, word_bytes));
      const auto counted = static_cast<float>(chunk.page_bytes());
      list = chunk.take_rest();
      s.run = count_scratch.counting.count_run(chunk, std::exchange(s.run, {}));
      note_run(count_scratch, s);
      s.gain = 1 - (static_cast<float>(s.run_bytes) - static_cast<float>(run_before)) / counted;
      gain_ = (3 * gain_ + s.gain) / 4;
    } while (list.pages > 0 && s.gain >= MemoryModel::kLeastGain &&
             memory_.can_grow_early(s.run_entries, list.kmers));
    ++early_counts_;
  }

  void note_run(const CountScratch& count_scratch, HeldShard& s) {
    s.run_entries = count_scratch.counting.entries(s.run);
    // And what the allocator cannot use for another.
    const std::uint64_t bytes = s.run.payload.capacity() * sizeof(std::uint64_t) / 8 * 9;
    run_bytes_ += bytes - s.run_bytes;
    s.run_bytes = bytes;
  }

  void spill(CountScratch& count_scratch, std::uint32_t group, Lists&& lists) {
    if (lists.empty()) return;
    const Stopwatch watch(count_scratch.times.spill_seconds);
    SliceBatch<Word> batch(file(), groups_[group].extents, pending_);
    for (auto& [shard, list] : lists) batch.add(shards_[shard].spilled, std::move(list));
    batch.flush();
  }

  /// False when there is none.
  bool spill_runs(CountScratch& count_scratch, std::uint32_t group) {
    const Stopwatch watch(count_scratch.times.spill_seconds);
    RunBatch batch;
    const std::uint32_t begin = group * group_shards_, end = begin + group_shards_;
    for (std::uint32_t shard = begin; shard < end; ++shard) {
      HeldShard& s = shards_[shard];
      if (!s.run.payload.empty()) batch.add(s.spilled_runs, s.run, s.run_entries);
    }
    if (batch.is_empty()) return false;
    const Extent written = batch.write(file());
    groups_[group].extents.note(written);
    spilled_run_bytes_ += written.bytes;
    for (std::uint32_t shard = begin; shard < end; ++shard) {
      shards_[shard].run = {};
      note_run(count_scratch, shards_[shard]);
    }
    return true;
  }

  /// Spills all that is in memory of a group. False when there is nothing.
  bool spill_group(CountScratch& count_scratch, std::uint32_t group) {
    Lists lists;
    for (std::uint32_t shard = group * group_shards_; shard < (group + 1) * group_shards_; ++shard) {
      if (const PendingList<Word> list = pending_.take(shard); list.pages > 0)
        lists.emplace_back(shard, list);
    }
    const bool has_words = !lists.empty();
    spill(count_scratch, group, std::move(lists));
    return spill_runs(count_scratch, group) || has_words;
  }

  // --- Counting.

  /// Returns how many of `words` words, all of which take `word_bytes`, take `bytes`.
  static std::uint64_t part_of(std::uint64_t words, std::uint64_t bytes, std::uint64_t word_bytes) {
    if (bytes >= word_bytes) return words;
    return static_cast<std::uint64_t>(static_cast<double>(words) * static_cast<double>(bytes) /
                                      static_cast<double>(word_bytes));
  }

  /// Takes what there is of a shard. Pending words that would fill much of the memory are spilled rather than
  /// held while others need room.
  TakenShard take(CountScratch& count_scratch, std::uint32_t shard) {
    const std::uint32_t group = shard / group_shards_;
    const std::lock_guard lock(groups_[group].mutex);
    HeldShard& s = shards_[shard];
    PendingList<Word> list = pending_.take(shard);
    if (std::uint64_t{list.pages} * PagePool::kPageBytes > memory_.total() / 4) {
      Lists lists{{shard, std::exchange(list, {})}};
      spill(count_scratch, group, std::move(lists));
    }
    run_bytes_ -= std::exchange(s.run_bytes, 0);
    return {list, s.spilled, std::exchange(s.run, {}), s.spilled_runs};
  }

  /// Asks for a group and the one after it, when the group's first shard is taken.
  void read_ahead(std::uint32_t shard) {
    const file::SpillFile* file = spill_file_;
    if (file == nullptr) return;
    const std::uint32_t group = shard / group_shards_;
    for (std::uint32_t g = group; g < std::min<std::size_t>(group + 2, groups_.size()); ++g) {
      if (groups_[g].is_being_read.exchange(true)) continue;
      const std::lock_guard lock(groups_[g].mutex);
      groups_[g].extents.will_need(*file);
    }
  }

  /// Gives up what a group has in the file when its last shard is counted: it is of no more use.
  void note_counted(std::uint32_t shard) {
    const file::SpillFile* file = spill_file_;
    SpillGroup& group = groups_[shard / group_shards_];
    if (++group.counted_shards < group_shards_ || file == nullptr) return;
    const std::lock_guard lock(group.mutex);
    group.extents.give_up(*file);
  }

  // --- Memory for counting, which pages and runs leave.

  /// Sees to it that a thread holds `bytes`, for a shard. If there is not so much, pages that are free go
  /// back to the system, then what is pending in the last groups is spilled, and then the thread waits for
  /// others.
  void reserve(CountScratch& count_scratch, std::uint64_t bytes, std::uint32_t shard) {
    if (bytes <= count_scratch.held_bytes) return;
    std::unique_lock lock(mutex_);
    give_back(count_scratch, 0);
    // Memory that it has counted in is used again where there is room beside it: large shards follow each
    // other, and what the system gives anew it clears.
    if (const std::uint64_t used = count_scratch.counting.memory_bytes(); has_room_for(bytes + used)) {
      bytes += used;
    } else {
      trim(count_scratch, 0);
    }
    while (!has_room_for(bytes)) {
      lock.unlock();
      std::call_once(short_of_memory_, host::return_freed_memory_at_once);
      const bool spilled = spill_last_group(count_scratch, shard / group_shards_);
      lock.lock();
      if (spilled) continue;
      if (in_turn_ == 0) break;  // no thread will give anything back
      // Pages and runs that others use up make room, too, but no thread is told: they are looked at again.
      given_back_.wait_for(lock, std::chrono::milliseconds(10));
    }
    reserved_ += bytes;
    count_scratch.held_bytes = bytes;
    count_scratch.is_in_turn = true;
    ++in_turn_;
  }

  /// Lets a thread keep `kept` bytes, or what it has. To be called under the mutex.
  void give_back(CountScratch& count_scratch, std::uint64_t kept) {
    kept = std::min(kept, count_scratch.held_bytes);
    reserved_ -= count_scratch.held_bytes - kept;
    count_scratch.held_bytes = kept;
    if (count_scratch.is_in_turn) --in_turn_;
    count_scratch.is_in_turn = false;
  }

  void end_turn(CountScratch& count_scratch) {
    trim(count_scratch, memory_.kept_bytes());
    // The shards that such a rank keeps (mpi/group_index.h) take the place of these pages.
    if (!plan_.ranks->is_first()) pool_.shrink(pool_.bytes_in_use());
    const std::lock_guard lock(mutex_);
    give_back(count_scratch, memory_.kept_bytes());
    given_back_.notify_all();
  }

  /// To be called under the mutex.
  bool has_room_for(std::uint64_t bytes) {
    const std::uint64_t others = run_bytes_ + reserved_ + bytes;
    if (others + pool_.bytes_resident() <= memory_.total()) return true;
    pool_.shrink(memory_.total() - std::min(memory_.total(), others));
    return others + pool_.bytes_resident() <= memory_.total();
  }

  /// Spills what is in memory of the last group, after `group`, that still has something there. False when
  /// there is none.
  bool spill_last_group(CountScratch& count_scratch, std::uint32_t group) {
    std::uint32_t last = last_groups_begin_;
    while (last > group + 1) {
      if (!last_groups_begin_.compare_exchange_weak(last, last - 1)) continue;
      --last;
      const std::lock_guard lock(groups_[last].mutex);
      if (spill_group(count_scratch, last)) return true;
    }
    return false;
  }

  static void trim(CountScratch& count_scratch, std::uint64_t most_bytes) {
    count_scratch.counting.trim(most_bytes);
  }

  const backend::CountPlan& plan_;
  const MemoryModel memory_;
  PagePool pool_;
  PendingStore<Word> pending_;
  std::vector<HeldShard> shards_;
  const std::uint32_t group_shards_;
  std::vector<SpillGroup> groups_;
  std::once_flag file_made_, short_of_memory_;
  std::unique_ptr<file::SpillFile> made_file_;
  std::atomic<file::SpillFile*> spill_file_{nullptr};  ///< once it is made
  std::atomic<std::uint64_t> turns_{0};
  std::atomic<std::uint64_t> run_bytes_{0};
  std::atomic<float> gain_{0};
  std::atomic<std::uint64_t> early_counts_{0};
  std::atomic<std::uint64_t> most_kmers_{0};  ///< of a shard
  std::atomic<std::uint64_t> spilled_run_bytes_{0};
  std::atomic<std::uint32_t> last_groups_begin_;  ///< groups from here on were spilled for want of room

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable given_back_;
  std::uint64_t reserved_ = 0;  ///< held by threads
  unsigned in_turn_ = 0;        ///< threads that hold memory for a shard
};

}  // namespace warpmer::cpu
