#pragma once
/// Counting shards k-mer by k-mer: super-k-mers in, hashes with counts out, which the caller freezes.

#include <cstdint>
#include <memory>
#include <utility>

#include "backend/backend.h"
#include "cpu/count/freezer.h"
#include "cpu/count/shard_counter.h"
#include "cpu/count/spilled_words.h"
#include "cpu/count/stage_times.h"
#include "cpu/memory/memory_model.h"
#include "cpu/memory/stopwatch.h"

namespace warpmer::cpu {

/// K-mers of a shard (their hashes), in canonical order. They are the caller's to change.
template <class Key>
struct ShardPart {
  Key* keys;
  std::uint64_t* counts;
  std::size_t size;
  bool is_all;  ///< true for all of the shard; else it is a range of its hashes, beyond those before
};

/// One per thread. ShardMemory says what it is asked for.
template <class Key, int Words>
class KmerCounting {
 public:
  using Word = SuperKmer<Words>;

  KmerCounting(const Kernels& kernels, const backend::CountPlan& plan, StageTimes& times)
      : kernels_(kernels),
        k_(plan.kmers.k),
        is_canonical_(plan.kmers.canonical),
        table_(plan.table),
        freezer_(kernels, plan.kmers.k),
        times_(times) {}

  /// Returns the bytes that counting takes.
  [[nodiscard]] static CountingCosts costs() {
    constexpr bool kWide = sizeof(Key) > 8;
    return {.pages = kWide ? 70.0 : 56.0,
            .per_byte = kWide ? 48u : 34u,
            .merged_per_byte = kWide ? 108u : 38u,
            .per_entry = kWide ? 128u : 80u,
            .per_hash = kWide ? 64u : 40u};
  }

  [[nodiscard]] Freezer& freezer() { return freezer_; }

  /// Returns the entries of a run.
  [[nodiscard]] static std::uint64_t entries(const index::FrozenShard& run) { return run.shape.entries; }

  /// Counts a chunk into a run, which is used up.
  index::FrozenShard count_run(ShardWords<Word>& chunk, index::FrozenShard&& run) {
    count_chunk(chunk, std::move(run));
    return freeze();
  }

  /// Counts all of a shard, and calls `use(part)`: with all of it, or, where that is too much for the memory,
  /// with one range of hashes after the other.
  template <class InHand, class Use>
  void count_all(InHand& shard, Use&& use) {
    ShardWords<Word>& words = shard.words;
    do {
      const std::uint64_t run_entries = shard.spilled_runs.entries + shard.run.shape.entries;
      const std::uint64_t word_bytes = shard.memory.word_bytes(words.left(), words.kmers_left());
      const std::uint64_t bytes = shard.memory.bytes_at_once(word_bytes, run_entries);
      const std::uint64_t needed = shard.memory.counting_bytes(bytes, run_entries);
      if (needed > shard.memory.thread_bytes()) return count_in_passes(shard, use);
      shard.reserve(needed);
      words.begin_chunk(shard.part_of(bytes, word_bytes));
      count_chunk(words, std::exchange(shard.run, {}));
      if (words.left() > 0) shard.run = freeze();
    } while (words.left() > 0);
    shard.for_each_spilled_run([&](const index::FrozenShard& run) {
      const Stopwatch watch(times_.count_seconds);
      counter_->merge(run);
    });
    pass_on(use, true);
  }

  /// Gives back what an unusually large shard needed: keeps about so many bytes to count in.
  void trim(std::uint64_t most_bytes) {
    if (counter_) counter_->trim(most_bytes);
    freezer_.trim(most_bytes / MemoryModel::kCounterBytes * MemoryModel::kFreezerBytes);
  }

 private:
  using Counter = ShardCounter<Key, Words>;

  Counter& counter() {
    if (!counter_) counter_ = std::make_unique<Counter>(kernels_, k_, is_canonical_, table_);
    return *counter_;
  }

  template <class Use>
  void pass_on(Use& use, bool is_all) {
    const Stopwatch watch(times_.freeze_seconds);
    use(ShardPart<Key>{counter_->keys(), counter_->counts(), counter_->size(), is_all});
  }

  /// Counts a chunk together with a run.
  void count_chunk(ShardWords<Word>& chunk, const index::FrozenShard& run) {
    const Stopwatch watch(times_.count_seconds);
    const double read_back = times_.read_back_seconds;
    counter().count(chunk);
    chunk.end_chunk();
    counter().merge(run);
    times_.count_seconds -= times_.read_back_seconds - read_back;
  }

  /// Counts what is left of a shard in passes, each over all words and runs, of which it counts a range of
  /// hashes that its memory holds. Ranges follow each other, so that what comes out is in canonical order.
  template <class InHand, class Use>
  void count_in_passes(InHand& shard, Use& use) {
    // Held: the run in memory, and one of those in the file.
    const std::uint64_t run_bytes =
        shard.run.payload.capacity() * sizeof shard.run.payload[0] + shard.spilled_runs.largest_bytes;
    shard.reserve_all();
    const std::uint64_t room = shard.memory.hashes_in_pass(run_bytes);
    const Key mask = key_mask<Key>(k_);
    Key first = 0, last = mask;
    for (bool is_all = true;; is_all = false) {
      last = count_range(shard, first, last, room);
      pass_on(use, is_all && last == mask);
      if (last == mask) return;
      const Key next = last + 1;
      last = end_of_range(next, last - first, counter_->size(), room, mask);
      first = next;
    }
  }

  /// Counts a range from `first` on, at most to `last`, and returns where it ends.
  template <class InHand>
  Key count_range(InHand& shard, Key first, Key last, std::uint64_t room) {
    const Stopwatch watch(times_.count_seconds);
    const double read_back = times_.read_back_seconds;
    Counter& counting = counter();
    const Key end =
        counting.count_range(first, last, room, typename ShardWords<Word>::WordsLeft(shard.words), [&] {
          if (shard.run.shape.entries > 0) counting.add(shard.run);
          shard.for_each_spilled_run([&](const index::FrozenShard& run) { counting.add(run); });
        });
    times_.count_seconds -= times_.read_back_seconds - read_back;
    return end;
  }

  /// Returns where the range after one of `width` with `size` k-mers is to end, so that it has as many as
  /// make a list of `room` hashes nearly three quarters full: with more it would have to be cut.
  static Key end_of_range(Key first, Key width, std::size_t size, std::uint64_t room, Key mask) {
    const double wanted =
        static_cast<double>(width) * 0.7 * static_cast<double>(room) / static_cast<double>(size);
    return wanted < static_cast<double>(mask - first) ? first + static_cast<Key>(wanted) : mask;
  }

  index::FrozenShard freeze() {
    const Stopwatch watch(times_.freeze_seconds);
    return freezer_.freeze(counter_->keys(), counter_->counts(), counter_->size());
  }

  const Kernels& kernels_;
  const std::uint32_t k_;
  const bool is_canonical_;
  const backend::CountTable table_;
  std::unique_ptr<Counter> counter_;  ///< made when there is something to count
  Freezer freezer_;
  StageTimes& times_;
};

}  // namespace warpmer::cpu
