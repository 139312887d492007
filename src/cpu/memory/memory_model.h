#pragma once
/// Says what a sharded session does with its share of memory, and what counting a shard takes.

#include <algorithm>
#include <cstdint>

#include "backend/backend.h"

namespace warpmer::cpu {

/// Bytes that counting takes, whichever way it is done. Words are such as the session keeps; a run's entries
/// are those that the way of counting says it has. High estimates.
struct CountingCosts {
  double pages;                   ///< to count a shard, for each byte of the words that it has on average
  std::uint64_t per_byte;         ///< for a byte of words that are counted
  std::uint64_t merged_per_byte;  ///< and more, if there is a run
  std::uint64_t per_entry;        ///< for an entry of that
};

/// The words of a session.
struct WordSizes {
  std::size_t bytes;  ///< of a word
  double mean_kmers;  ///< of random sequence
  double mean_bytes;  ///< of a word with so many, on its page
};

/// A session's share of memory, divided. All of it is in bytes.
class MemoryModel {
 public:
  /// Bytes that a thread counts shards of ordinary size in, and bytes in which it encodes them.
  static constexpr std::uint64_t kCounterBytes = std::uint64_t{4} << 20;
  static constexpr std::uint64_t kEncoderBytes = std::uint64_t{1} << 20;

  /// A session of one kind, whatever its plan.
  struct SessionKind {
    std::uint64_t thread_bytes;  ///< bytes that a thread holds besides what it counts with
    std::uint32_t shards;
    std::uint64_t shard_bytes;  ///< bytes that are held for every shard, whatever is in it
    CountingCosts costs;
    WordSizes words;
  };
  /// The plan's threads are those that were asked for, and of several ranks one that takes what others send.
  /// ResourceError, with the least -m that would do, when the plan's memory is less than that.
  MemoryModel(const backend::CountPlan& plan, const SessionKind& kind);

  /// Forecasts what a session so divided is going to do with words that take so many bytes, and `page_bytes`
  /// on pages, and of which frozen runs would take `run_bytes`.
  static backend::SessionForecast forecast(const backend::CountPlan& plan, const SessionKind& kind,
                                           double word_bytes, double page_bytes, double run_bytes);

  /// Early counting is worth its while when it frees this part of what is pending.
  static constexpr float kLeastGain = 0.5f;
  /// And when so many times as many k-mers come as the run has. (1 GB of reads at 100x in small caps, without
  /// this rule and with it: `-t 2 -m 120M` 10.1 and 4.6 s of CPU time, 147 and 348 MB spilled; `-t 16 -m
  /// 400M` 23 and 5.5 s.)
  static constexpr std::uint64_t kLeastGrowth = 2;

  /// So much of the room for pages is left for what threads take while groups are written. Pages taken beyond
  /// the room would be returned to the system one by one, only to be asked for again.
  static constexpr std::uint64_t kLeftPart = 16;

  /// Returns the bytes for pages, runs and counting together.
  [[nodiscard]] std::uint64_t total() const { return total_; }
  /// Returns the bytes for pages and runs while words come in.
  [[nodiscard]] std::uint64_t budget() const { return budget_; }
  /// Returns the bytes that a thread keeps to count in from shard to shard.
  [[nodiscard]] std::uint64_t kept_bytes() const { return kept_bytes_; }

  /// Returns what words take, in the bytes that what follows speaks of: more than theirs where they have more
  /// k-mers than words usually have, as those of one minimizer that is everywhere do.
  [[nodiscard]] std::uint64_t word_bytes(std::uint64_t words, std::uint64_t kmers) const {
    return std::max(words * words_.bytes,
                    static_cast<std::uint64_t>(static_cast<double>(kmers) * bytes_of_kmer_));
  }

  /// Returns what counting takes, at most but for what only adversaries think of: `word_bytes` of words, with
  /// the entries of runs merged into the result.
  [[nodiscard]] std::uint64_t counting_bytes(std::uint64_t word_bytes, std::uint64_t run_entries) const;
  /// Return how many of so many bytes of words a thread is to count at once: in the end, and early.
  [[nodiscard]] std::uint64_t bytes_at_once(std::uint64_t word_bytes, std::uint64_t run_entries) const {
    return chunk_bytes(word_bytes, run_entries, thread_bytes());
  }
  [[nodiscard]] std::uint64_t early_bytes_at_once(std::uint64_t word_bytes, std::uint64_t run_entries) const {
    return chunk_bytes(word_bytes, run_entries, early_bytes_);
  }
  /// True when a run is small enough that so many k-mers can be counted into it early: for the thread's
  /// memory, and beside them, since all of the run is gone through for them.
  [[nodiscard]] bool can_grow_early(std::uint64_t run_entries, std::uint64_t kmers) const {
    return run_entries <= kmers / kLeastGrowth && counting_bytes(0, run_entries) <= early_bytes_ / 2;
  }
  /// Returns the bytes that a thread may take for one shard.
  [[nodiscard]] std::uint64_t thread_bytes() const { return total_ / 4 * 3 / threads_; }
  /// Returns the cap on the process with which a thread may take so many bytes for one shard.
  [[nodiscard]] std::uint64_t cap_for_thread_bytes(const backend::CountPlan& plan, std::uint64_t bytes) const;

 private:
  /// The parts into which the plan's memory is divided.
  struct Division {
    std::uint64_t counters;  ///< bytes that threads count with, at least
    std::uint64_t fixed;     ///< held whatever comes
    std::uint64_t writer;    ///< bytes that the index writer may keep
    std::uint64_t least;     ///< without that
    double tables;           ///< bytes that counting takes beside a byte of pages
    Division(const backend::CountPlan& plan, const SessionKind& kind);
    /// Returns the smallest cap on the process that leaves a session so many bytes.
    [[nodiscard]] static std::uint64_t cap_for(const backend::CountPlan& plan, std::uint64_t bytes);
  };

  [[nodiscard]] std::uint64_t chunk_bytes(std::uint64_t word_bytes, std::uint64_t run_entries,
                                          std::uint64_t most) const;

  unsigned threads_;
  CountingCosts costs_;
  WordSizes words_;
  double bytes_of_kmer_;  ///< bytes of a k-mer in a word that has as many k-mers as words usually have
  std::uint64_t fixed_ = 0, total_ = 0, budget_ = 0, early_bytes_ = 0, kept_bytes_ = 0;
};

}  // namespace warpmer::cpu
