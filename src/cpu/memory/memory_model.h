#pragma once
/// Says what a sharded session does with its share of memory, and what counting a shard takes.

#include <algorithm>
#include <cstdint>

#include "backend/backend.h"

namespace warpmer::cpu {

/// A session's share of memory, divided. All of it is in bytes.
class MemoryModel {
 public:
  /// Bytes that a ShardCounter holds for shards of ordinary size, and a Freezer.
  static constexpr std::uint64_t kCounterBytes = std::uint64_t{4} << 20;
  static constexpr std::uint64_t kFreezerBytes = std::uint64_t{1} << 20;

  /// `thread_bytes` is what a thread holds besides what it counts with, `shard_bytes` what is held for every
  /// shard whatever is in it, `key_bytes` and `bytes_of_word` the sizes of a key and a word. ResourceError,
  /// with the least -m that would do, when the plan's memory is less than that.
  MemoryModel(const backend::CountPlan& plan, std::uint64_t thread_bytes, std::uint32_t shards,
              std::uint64_t shard_bytes, std::size_t key_bytes, std::size_t bytes_of_word);

  /// Forecasts what a session so divided is going to do with words that take so many bytes, and `page_bytes`
  /// on pages, and of which frozen runs would take `run_bytes`.
  static backend::SessionForecast forecast(const backend::CountPlan& plan, std::uint64_t thread_bytes,
                                           std::uint32_t shards, std::uint64_t shard_bytes,
                                           std::size_t key_bytes, double word_bytes, double page_bytes,
                                           double run_bytes);

  /// Early counting is worth its while when it frees this part of what is pending.
  static constexpr float kLeastGain = 0.5f;

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
    return std::max(words * bytes_of_word_,
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
  /// True when a run is small enough that more can be counted into it early.
  [[nodiscard]] bool can_grow_early(std::uint64_t run_entries) const {
    return counting_bytes(0, run_entries) <= early_bytes_ / 2;
  }
  /// Returns the bytes that a thread may take for one shard.
  [[nodiscard]] std::uint64_t thread_bytes() const { return total_ / 4 * 3 / threads_; }
  /// Returns how many hashes a thread can list at a time (ShardCounter::count_range) while it holds so many
  /// bytes of runs besides.
  [[nodiscard]] std::uint64_t hashes_in_pass(std::uint64_t run_bytes) const;

 private:
  /// The parts into which the plan's memory is divided.
  struct Division {
    std::uint64_t counters;  ///< bytes that threads count with, at least
    std::uint64_t fixed;     ///< held whatever comes
    std::uint64_t writer;    ///< bytes that the index writer may keep
    std::uint64_t least;     ///< without that
    double tables;           ///< bytes that counting takes beside a byte of pages
    Division(const backend::CountPlan& plan, std::uint64_t thread_bytes, std::uint32_t shards,
             std::uint64_t shard_bytes, std::size_t key_bytes);
    /// Returns the smallest cap on the process with which a session begins.
    [[nodiscard]] std::uint64_t least_cap(const backend::CountPlan& plan) const;
  };

  [[nodiscard]] std::uint64_t chunk_bytes(std::uint64_t word_bytes, std::uint64_t run_entries,
                                          std::uint64_t most) const;

  unsigned threads_;
  bool is_wide_;
  std::uint64_t bytes_of_word_;
  double bytes_of_kmer_;  ///< bytes of a k-mer in a word that has as many k-mers as words usually have
  std::uint64_t total_ = 0, budget_ = 0, early_bytes_ = 0, kept_bytes_ = 0;
};

}  // namespace warpmer::cpu
