#include "cpu/memory/memory_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cpu/memory/page_pool.h"
#include "host/limits.h"
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

/// Returns the bytes that words take, as counting_bytes has it, for each byte of the pages they are on; for
/// long k, whose words are full, they take no less.
double word_bytes_of_page_byte(const WordSizes& words) {
  return std::max(1.0, static_cast<double>(words.bytes) / words.mean_bytes);
}

}  // namespace

MemoryModel::Division::Division(const backend::CountPlan& plan, const SessionKind& kind)
    : counters(plan.threads * (kCounterBytes + kEncoderBytes)),
      fixed(plan.threads * kind.thread_bytes + kind.shards * kind.shard_bytes),
      writer(std::max(plan.memory_cap_bytes, plan.memory_bytes) / kWriterShare),
      // A shard in each thread's hands while others are pending, of this rank's; it may be twice the mean.
      tables(kind.costs.pages * word_bytes_of_page_byte(kind.words) * plan.threads * plan.ranks->size() /
             kind.shards) {
  const auto least_pages = static_cast<std::uint64_t>(
      static_cast<double>(kind.shards * kLeastPages * PagePool::kPageBytes) * (1 + tables));
  least = fixed + counters + least_pages;
}

std::uint64_t MemoryModel::Division::cap_for(const backend::CountPlan& plan, std::uint64_t bytes) {
  return (plan.other_bytes + bytes) / (kWriterShare - 1) * kWriterShare;
}

MemoryModel::MemoryModel(const backend::CountPlan& plan, const SessionKind& kind)
    : threads_(plan.threads),
      costs_(kind.costs),
      words_(kind.words),
      bytes_of_kmer_(static_cast<double>(kind.words.bytes) / kind.words.mean_kmers) {
  const Division division(plan, kind);
  if (plan.memory_bytes < division.least + division.writer) {
    const unsigned asked = threads_ - (plan.ranks->are_several() ? 1 : 0);
    throw ResourceError(host::memory_refusal(std::max(plan.memory_cap_bytes, plan.memory_bytes),
                                             fmt::format("counting {}-mers", plan.kmers.k), asked,
                                             Division::cap_for(plan, division.least)));
  }
  fixed_ = division.fixed;
  total_ = plan.memory_bytes - division.fixed - division.writer;
  budget_ =
      static_cast<std::uint64_t>(static_cast<double>(total_ - division.counters) / (1 + division.tables));
  early_bytes_ = (total_ - budget_) / plan.threads;
  // Bytes that all threads together may take, so that none has to wait for what another one keeps.
  kept_bytes_ = std::min(kMostKeptBytes, std::max(kCounterBytes, this->thread_bytes()));
}

backend::SessionForecast MemoryModel::forecast(const backend::CountPlan& plan, const SessionKind& kind,
                                               double word_bytes, double page_bytes, double run_bytes) {
  const Division division(plan, kind);
  const auto memory = static_cast<double>(plan.memory_bytes), writer = static_cast<double>(division.writer),
             other = static_cast<double>(plan.other_bytes);
  const auto held = static_cast<double>(division.fixed + division.counters);
  // Pending words take at most this part of its room while no group is evicted.
  constexpr double kUsed = 1 - 1.0 / MemoryModel::kLeftPart;
  const double needed = held + page_bytes / kUsed * (1 + division.tables);
  backend::SessionForecast forecast;
  forecast.begins = plan.memory_bytes >= division.least + division.writer;
  forecast.least_bytes = static_cast<double>(Division::cap_for(plan, division.least) - plan.other_bytes);
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
  const std::uint64_t counted = word_bytes * costs_.per_byte;
  if (run_entries == 0) return counted;
  return counted + word_bytes * costs_.merged_per_byte + run_entries * costs_.per_entry;
}

std::uint64_t MemoryModel::chunk_bytes(std::uint64_t word_bytes, std::uint64_t run_entries,
                                       std::uint64_t most) const {
  if (counting_bytes(word_bytes, run_entries) <= most) return word_bytes;
  const std::uint64_t runs = counting_bytes(0, run_entries);
  const std::uint64_t per_byte = costs_.per_byte + costs_.merged_per_byte;
  return std::min(word_bytes, std::max(kLeastChunkBytes, (most - std::min(most, runs)) / per_byte));
}

std::uint64_t MemoryModel::cap_for_thread_bytes(const backend::CountPlan& plan, std::uint64_t bytes) const {
  return Division::cap_for(plan, fixed_ + bytes * threads_ / 3 * 4);
}

}  // namespace warpmer::cpu
