#pragma once
/// Counting shards: super-k-mers around minimizers in, the payload of a shard out (src/groups).

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/error.h"
#include "cpu/count/spilled_words.h"
#include "cpu/count/stage_times.h"
#include "cpu/count/table_word_counter.h"
#include "cpu/count/tally_filter.h"
#include "cpu/memory/memory_model.h"
#include "cpu/simd/kernels.h"
#include "cpu/simd/word_format.h"
#include "groups/word_counter.h"
#include "host/limits.h"
#include "index/frozen_shard.h"

namespace warpmer::cpu {

/// A way to count words: group by group, without a table.
template <int W>
struct InGroups {
  static constexpr int kWords = W;
  using Counter = groups::WordCounter<W, StoredFlankedFormat<W>>;

  static Counter make_counter(const Kernels& /*kernels*/, const backend::CountPlan& plan) {
    return Counter(plan.kmers.k);
  }
  static CountingCosts costs() {
    return {.pages = 30, .per_byte = 60, .merged_per_byte = 4, .per_entry = 32};
  }
};

/// Another: k-mer by k-mer, in the table that `--table` names.
template <class Key, int W>
struct InTable {
  static constexpr int kWords = W;
  using Counter = TableWordCounter<Key, W>;

  static Counter make_counter(const Kernels& kernels, const backend::CountPlan& plan) {
    return Counter(kernels, plan.kmers.k, plan.table);
  }
  static CountingCosts costs() {
    constexpr bool kWide = sizeof(Key) > 8;
    return {
        .pages = kWide ? 70.0 : 56.0, .per_byte = kWide ? 100u : 80u, .merged_per_byte = 4, .per_entry = 32};
  }
};

/// One per thread. ShardMemory says what it is asked for.
template <class Way>
class StringCounting {
  static constexpr int kWords = Way::kWords;
  static constexpr std::uint64_t kTimesOfLargest = kWords == 2 ? 2 : 3;

 public:
  using Word = groups::FlankedWord<kWords>;

  StringCounting(const Kernels& kernels, const backend::CountPlan& plan, StageTimes& times)
      : plan_(plan),
        shape_(plan.kmers.k),
        lengths_(groups::make_length_table(shape_.flank_bases())),
        counter_(Way::make_counter(kernels, plan)),
        times_(times) {}

  /// Returns the bytes that counting takes.
  [[nodiscard]] static CountingCosts costs() { return Way::costs(); }

  /// Returns the k-mers of a run, those of its largest group several times: a large one is counted k-mer by
  /// k-mer, all at once.
  [[nodiscard]] std::uint64_t entries(const index::FrozenShard& run) const {
    if (run.sizes.large_groups == 0) return run.sizes.kmers;
    const groups::ShardBits shard = bits_of(run);
    std::uint64_t largest = 0;
    for (std::uint64_t i = 0; i < run.sizes.large_groups; ++i)
      largest = std::max(largest, groups::LargeGroup(shard, shard.part(run.sizes.buckets + i)).kmers);
    return run.sizes.kmers + kTimesOfLargest * largest;
  }

  /// Counts a chunk into a run, which is used up.
  index::FrozenShard count_run(ShardWords<Word>& chunk, index::FrozenShard&& run) {
    take_words(chunk);
    return count({&run, 1}, groups::KeepAll());
  }

  /// Counts all of a shard, and returns what `filter` keeps of it. `spent` is a payload of no more use.
  /// ResourceError when memory does not hold it.
  template <class InHand>
  index::FrozenShard count_all(InHand& shard, TallyFilter& filter, std::vector<std::uint64_t>&& spent) {
    const MemoryModel& memory = shard.memory;
    std::vector<index::FrozenShard> runs(1);
    runs[0] = std::move(shard.run);
    std::uint64_t entries_in_file = shard.spilled_runs.entries, counted_kmers = 0;
    for (bool is_first = true; is_first || shard.words.left() > 0; is_first = false) {
      if (!is_first) runs[0] = count(runs, groups::KeepAll());
      std::uint64_t held = entries(runs[0]);
      const std::uint64_t word_bytes = memory.word_bytes(shard.words.left(), shard.words.kmers_left());
      const auto needed = [&] {
        const std::uint64_t all = held + entries_in_file;
        return memory.counting_bytes(memory.bytes_at_once(word_bytes, all), all);
      };
      if (needed() > memory.thread_bytes() && entries_in_file > 0) {
        // The same k-mers may be in several runs.
        merge_spilled_runs(shard, runs[0]);
        held = entries(runs[0]);
        entries_in_file = 0;
      }
      if (needed() > memory.thread_bytes()) refuse(shard, runs[0], counted_kmers);
      shard.reserve(needed());
      const std::uint64_t kmers = shard.words.kmers_left();
      shard.words.begin_chunk(
          shard.part_of(memory.bytes_at_once(word_bytes, held + entries_in_file), word_bytes));
      take_words(shard.words);
      counted_kmers += kmers - shard.words.kmers_left();
    }
    if (entries_in_file > 0)
      shard.for_each_spilled_run([&](index::FrozenShard&& run) { runs.push_back(std::move(run)); });
    return count(runs, filter, std::move(spent));
  }

  /// Returns the bytes that are kept to count in.
  [[nodiscard]] std::uint64_t memory_bytes() const { return counter_.memory_bytes(); }
  /// Gives back what an unusually large shard needed: keeps about so many bytes to count in.
  void trim(std::uint64_t most_bytes) {
    if (counter_.memory_bytes() > most_bytes) counter_.clear();
  }

 private:
  [[nodiscard]] groups::ShardBits bits_of(const index::FrozenShard& run) const {
    return {shape_, run.sizes, run.payload.data(), lengths_.data()};
  }

  /// Takes the words of a chunk, and gives its pages back.
  void take_words(ShardWords<Word>& chunk) {
    const Stopwatch watch(times_.count_seconds);
    const double read_back = times_.read_back_seconds;
    counter_.begin(chunk.size());
    chunk.for_each_page([&](const auto* some, std::size_t n) { counter_.add(some, n); });
    chunk.end_chunk();
    times_.count_seconds -= times_.read_back_seconds - read_back;
  }

  /// Counts the words that were taken, together with runs.
  template <class Filter>
  index::FrozenShard count(std::span<const index::FrozenShard> runs, Filter&& filter,
                           std::vector<std::uint64_t>&& spent = {}) {
    const Stopwatch watch(times_.count_seconds);
    std::vector<groups::ShardBits> views;
    for (const index::FrozenShard& run : runs) {
      if (run.sizes.kmers > 0) views.push_back(bits_of(run));
    }
    groups::EncodedShard counted = counter_.count(views, filter, std::move(spent));
    index::FrozenShard frozen;
    frozen.sizes = counted.sizes;
    frozen.payload = std::move(counted.payload);
    return frozen;
  }

  /// Merges all runs in the file, one at a time, into one in memory.
  template <class InHand>
  void merge_spilled_runs(InHand& shard, index::FrozenShard& into) {
    shard.reserve_all();
    shard.for_each_spilled_run([&](index::FrozenShard&& run) {
      const std::uint64_t both = entries(into) + entries(run);
      if (shard.memory.counting_bytes(0, both) > shard.memory.thread_bytes()) refuse(shard, into, 0);
      const index::FrozenShard two[] = {std::move(into), std::move(run)};
      into = count(two, groups::KeepAll());
    });
  }

  /// Says with what cap this shard would be counted, and the largest one: as if what is left of it, and all
  /// of that one, had as many different k-mers as what has been counted.
  template <class InHand>
  [[noreturn]] void refuse(InHand& shard, const index::FrozenShard& run, std::uint64_t counted_kmers) const {
    const double kmers = static_cast<double>(run.sizes.kmers);
    const auto left = static_cast<double>(shard.words.kmers_left());
    const double distinct =
        counted_kmers == 0 ? 1 : std::min(1.0, kmers / static_cast<double>(counted_kmers));
    // Of a large group nearly all may be, which the k-mers so far are less of.
    const double weight = kmers == 0 ? 8 : run.sizes.large_groups > 0 ? 1 + kTimesOfLargest : 1;
    const double most = std::max(kmers + left * distinct, static_cast<double>(shard.most_kmers()) * distinct);
    const auto all = static_cast<std::uint64_t>(most * weight) + shard.spilled_runs.entries;
    const std::uint64_t bytes = shard.memory.counting_bytes(std::uint64_t{64} << 10, all);
    throw ResourceError(host::memory_refusal(
        std::max(plan_.memory_cap_bytes, plan_.memory_bytes),
        fmt::format("counting {}-mers of which one shard has {} and more", plan_.kmers.k, run.sizes.kmers),
        plan_.threads, shard.memory.cap_for_thread_bytes(plan_, bytes)));
  }

  const backend::CountPlan& plan_;
  const groups::GroupShape shape_;
  const std::vector<groups::FlankLengths> lengths_;
  typename Way::Counter counter_;
  StageTimes& times_;
};

}  // namespace warpmer::cpu
