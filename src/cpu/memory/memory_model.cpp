#include "cpu/memory/memory_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cpu/memory/page_pool.h"
#include "cpu/simd/word_format.h"
#include "host/limits.h"
#include "kmer/minimizer.h"
#include "mpi/process_group.h"

namespace warpmer::cpu {
namespace {

/// The part of the whole process's memory (one in so many) that the index writer may keep of shards that wait
/// for others (jobs/session_run).
constexpr std::uint64_t kWriterShare = 16;
/// Pages for every shard at least: one that fills and one that is full.
constexpr std::uint64_t kLeastPages = 2;
/// Words counted at once, at least.
constexpr std::uint64_t kLeastChunkBytes = std::uint64_t{64} << 10;
/// Bytes that a thread keeps to count in after a shard of unusual size, at most. (Given back after each
/// shard, memory costs 8.4 M page faults and 30 s of system time with the smallest cap; kept, 1.3 M and 10
/// s.)
constexpr std::uint64_t kMostKeptBytes = std::uint64_t{64} << 20;

/// Random minimizers change after half a window, on average.
double mean_kmers_per_word(std::uint32_t k) { return (minimizer_window(k) + 1) / 2.0; }

// Bytes that arrays and tables, whichever it is, and the frozen result take for a byte of words, k-mers of
// which most are distinct; arrays' sizes are powers of two. High estimates.
constexpr std::uint64_t kNarrowPerByte = 34, kWidePerByte = 48;
// When the result is merged with a run there are two of it: for a byte of words, and for an entry of the run.
constexpr std::uint64_t kNarrowMergedPerByte = 38, kWideMergedPerByte = 108;
constexpr std::uint64_t kNarrowPerEntry = 80, kWidePerEntry = 128;
// Bytes that a range of a shard's hashes takes for each that its list has room for, sorted, and frozen if
// that is all of the shard; and besides them.
constexpr std::uint64_t kNarrowPerHash = 40, kWidePerHash = 64, kPassBytes = std::uint64_t{2} << 20;

/// Returns the bytes that words take, as counting_bytes has it, for each byte of the pages they are on; for
/// long k, whose words are full, they take no less.
double word_bytes_of_page_byte(std::uint32_t k) {
  const auto bytes = static_cast<double>(k > kMaxShortWordK ? sizeof(SuperKmer<4>) : sizeof(SuperKmer<2>));
  return std::max(1.0, bytes / mean_word_bytes(k, mean_kmers_per_word(k)));
}

}  // namespace

MemoryModel::Division::Division(const backend::CountPlan& plan, std::uint64_t thread_bytes,
                                std::uint32_t shards, std::uint64_t shard_bytes, std::size_t key_bytes)
    : counters(plan.threads * (kCounterBytes + kFreezerBytes)),
      fixed(plan.threads * thread_bytes + shards * shard_bytes),
      writer(std::max(plan.memory_cap_bytes, plan.memory_bytes) / kWriterShare),
      // A shard in each thread's hands while others are pending, of this rank's; it may be twice the mean.
      tables((key_bytes > 8 ? 70.0 : 56.0) * word_bytes_of_page_byte(plan.kmers.k) * plan.threads *
             plan.ranks->size() / shards) {
  const auto least_pages = static_cast<std::uint64_t>(
      static_cast<double>(shards * kLeastPages * PagePool::kPageBytes) * (1 + tables));
  least = fixed + counters + least_pages;
}

std::uint64_t MemoryModel::Division::least_cap(const backend::CountPlan& plan) const {
  return (plan.other_bytes + least) / (kWriterShare - 1) * kWriterShare;
}

MemoryModel::MemoryModel(const backend::CountPlan& plan, std::uint64_t thread_bytes, std::uint32_t shards,
                         std::uint64_t shard_bytes, std::size_t key_bytes, std::size_t bytes_of_word)
    : threads_(plan.threads),
      is_wide_(key_bytes > 8),
      bytes_of_word_(bytes_of_word),
      bytes_of_kmer_(static_cast<double>(bytes_of_word) / mean_kmers_per_word(plan.kmers.k)) {
  const Division division(plan, thread_bytes, shards, shard_bytes, key_bytes);
  if (plan.memory_bytes < division.least + division.writer) {
    throw ResourceError(host::memory_refusal(std::max(plan.memory_cap_bytes, plan.memory_bytes),
                                             fmt::format("counting {}-mers", plan.kmers.k), threads_,
                                             division.least_cap(plan)));
  }
  total_ = plan.memory_bytes - division.fixed - division.writer;
  budget_ =
      static_cast<std::uint64_t>(static_cast<double>(total_ - division.counters) / (1 + division.tables));
  early_bytes_ = (total_ - budget_) / plan.threads;
  // Bytes that all threads together may take, so that none has to wait for what another one keeps.
  kept_bytes_ = std::min(kMostKeptBytes, std::max(kCounterBytes, this->thread_bytes()));
}

backend::SessionForecast MemoryModel::forecast(const backend::CountPlan& plan, std::uint64_t thread_bytes,
                                               std::uint32_t shards, std::uint64_t shard_bytes,
                                               std::size_t key_bytes, double word_bytes, double page_bytes,
                                               double run_bytes) {
  const Division division(plan, thread_bytes, shards, shard_bytes, key_bytes);
  const auto memory = static_cast<double>(plan.memory_bytes), writer = static_cast<double>(division.writer),
             other = static_cast<double>(plan.other_bytes);
  const auto held = static_cast<double>(division.fixed + division.counters);
  // Pending words take at most this part of its room while groups are not relieved.
  constexpr double kUsed = 1 - 1.0 / MemoryModel::kLeftPart;
  const double needed = held + page_bytes / kUsed * (1 + division.tables);
  backend::SessionForecast forecast;
  forecast.begins = plan.memory_bytes >= division.least + division.writer;
  forecast.least_bytes = static_cast<double>(division.least_cap(plan) - plan.other_bytes);
  forecast.unhurried_bytes =
      std::max(forecast.least_bytes, (other + needed) / (kWriterShare - 1) * kWriterShare - other);
  if (memory >= needed + writer) {
    forecast.peak_low_bytes = word_bytes;  // if all are in a few shards
    forecast.peak_high_bytes = held + page_bytes * (1 + division.tables);
    return forecast;
  }
  const double budget = std::max(0.0, memory - writer - held) / (1 + division.tables);
  forecast.peak_low_bytes = budget / 4 * 3;
  forecast.peak_high_bytes = memory;
  forecast.beyond_bytes = std::max(0.0, page_bytes - budget * kUsed);
  const bool counts_early = run_bytes <= (1 - double{kLeastGain}) * word_bytes;
  forecast.temporary_bytes =
      counts_early ? std::max(0.0, run_bytes - budget / 2) : std::min(forecast.beyond_bytes, word_bytes);
  return forecast;
}

std::uint64_t MemoryModel::counting_bytes(std::uint64_t word_bytes, std::uint64_t run_entries) const {
  const std::uint64_t counted = word_bytes * (is_wide_ ? kWidePerByte : kNarrowPerByte);
  if (run_entries == 0) return counted;
  return counted + word_bytes * (is_wide_ ? kWideMergedPerByte : kNarrowMergedPerByte) +
         run_entries * (is_wide_ ? kWidePerEntry : kNarrowPerEntry);
}

std::uint64_t MemoryModel::chunk_bytes(std::uint64_t word_bytes, std::uint64_t run_entries,
                                       std::uint64_t most) const {
  if (counting_bytes(word_bytes, run_entries) <= most) return word_bytes;
  const std::uint64_t runs = counting_bytes(0, run_entries);
  const std::uint64_t per_byte =
      is_wide_ ? kWidePerByte + kWideMergedPerByte : kNarrowPerByte + kNarrowMergedPerByte;
  return std::min(word_bytes, std::max(kLeastChunkBytes, (most - std::min(most, runs)) / per_byte));
}

std::uint64_t MemoryModel::hashes_in_pass(std::uint64_t run_bytes) const {
  const std::uint64_t bytes = thread_bytes(), others = std::min(bytes, run_bytes + kPassBytes);
  return std::max(bytes / 4, bytes - others) / (is_wide_ ? kWidePerHash : kNarrowPerHash);
}

}  // namespace warpmer::cpu
