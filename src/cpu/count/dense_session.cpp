#include "cpu/count/dense_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "backend/dense_counts.h"
#include "base/clock.h"
#include "base/error.h"
#include "cpu/simd/kmer_window.h"
#include "host/limits.h"
#include "mpi/rank_sums.h"

namespace warpmer::cpu {

namespace {

/// Adds the k-mers of a stretch. `shared`: other threads add to the same counters.
template <bool shared>
void count_stretch(const std::uint64_t* packed, std::size_t first, std::size_t bases, std::uint32_t k,
                   std::uint32_t* counts, std::mutex& mutex, std::vector<std::uint32_t>& carries) {
  const std::uint64_t mask = key_mask<Key64>(k);
  std::uint64_t kmer = 0;
  for (std::size_t i = 0; i < bases; ++i) {
    kmer = ((kmer << 2) | packed_base(packed, first + i)) & mask;
    if (i + 1 < k) continue;
    std::uint32_t now = 0;
    if constexpr (shared) {
      now = std::atomic_ref<std::uint32_t>(counts[kmer]).fetch_add(1, std::memory_order_relaxed) + 1;
    } else {
      now = ++counts[kmer];
    }
    if (now == 0) [[unlikely]] {
      const std::lock_guard lock(mutex);
      carries.push_back(static_cast<std::uint32_t>(kmer));
    }
  }
}

/// More threads share copies, by atomic additions: filling, folding and caching copies costs, too.
constexpr std::uint64_t kMostCopies = 8;

std::uint64_t copy_bytes(std::uint32_t k) { return (std::uint64_t{1} << (2 * k)) * sizeof(std::uint32_t); }

/// Returns as many copies as there is memory for besides what freezing takes.
unsigned copies_for(const backend::CountPlan& plan) {
  const std::uint64_t fit =
      (plan.memory_bytes - backend::dense_freeze_bytes(plan.kmers.k)) / copy_bytes(plan.kmers.k);
  return static_cast<unsigned>(std::min<std::uint64_t>({plan.threads, fit, kMostCopies}));
}

std::uint64_t least_bytes(const backend::CountPlan& plan) {
  return backend::dense_freeze_bytes(plan.kmers.k) + copy_bytes(plan.kmers.k);
}

}  // namespace

DenseSession::DenseSession(const Kernels& kernels, const backend::CountPlan& plan)
    : plan_(plan), times_(plan.threads), tally_(plan.kept) {
  if (plan.memory_bytes < least_bytes(plan)) {
    throw ResourceError(host::memory_refusal(std::max(plan.memory_cap_bytes, plan.memory_bytes),
                                             fmt::format("counting {}-mers", plan.kmers.k), plan.threads,
                                             plan.other_bytes + least_bytes(plan)));
  }
  for (unsigned i = 0; i < copies_for(plan); ++i)
    copies_.push_back(std::make_unique<CounterCopy>(std::size_t{1} << (2 * plan.kmers.k)));
  for (unsigned t = 0; t < plan.threads; ++t)
    finders_.emplace_back(kernels, plan.kmers.k, plan.reading.lenient);
}

backend::SessionForecast DenseSession::forecast(const backend::CountPlan& plan) {
  backend::SessionForecast forecast;
  forecast.least_bytes = forecast.unhurried_bytes = static_cast<double>(least_bytes(plan));
  forecast.begins = plan.memory_bytes >= least_bytes(plan);
  if (!forecast.begins) return forecast;
  // Pages of k-mers that do not occur may never be touched.
  forecast.peak_high_bytes =
      static_cast<double>(backend::dense_freeze_bytes(plan.kmers.k)) +
      static_cast<double>(copies_for(plan)) * static_cast<double>(copy_bytes(plan.kmers.k));
  forecast.peak_low_bytes = static_cast<double>(copy_bytes(plan.kmers.k));
  return forecast;
}

std::uint64_t DenseSession::add(io::Batch& batch, unsigned thread) {
  const Stopwatch watch(times_[thread].cut_seconds);
  CounterCopy& copy = *copies_[thread % copies_.size()];
  const bool shared = copies_.size() < plan_.threads;
  std::uint64_t kmers = 0;
  for (const io::Piece& piece : batch.pieces) {
    times_[thread].cut_bytes += piece.length;
    finders_[thread].for_each(
        batch, piece,
        [&](const std::uint64_t* packed, std::size_t first, std::size_t bases, std::size_t /*at*/) {
          kmers += bases - plan_.kmers.k + 1;
          const auto count = shared ? count_stretch<true> : count_stretch<false>;
          count(packed, first, bases, plan_.kmers.k, copy.counts.data(), copy.mutex, copy.carries);
        });
  }
  return kmers;
}

std::vector<std::uint64_t> DenseSession::sums() const {
  std::vector<std::uint64_t> sums(std::size_t{1} << (2 * plan_.kmers.k));
  for (const auto& copy : copies_) {
    for (std::size_t kmer = 0; kmer < sums.size(); ++kmer) sums[kmer] += copy->counts[kmer];
    for (const std::uint32_t kmer : copy->carries) sums[kmer] += std::uint64_t{1} << 32;
  }
  return sums;
}

void DenseSession::finish(unsigned thread, const backend::ShardSink& sink,
                          const std::function<void()>& shard_done) {
  if (thread != 0) return;
  const Stopwatch watch(times_[thread].freeze_seconds);
  std::vector<std::uint64_t> all = sums();
  if (!mpi::add_up_over_ranks(*plan_.ranks, all)) return;
  sink(0, backend::freeze_dense(std::move(all), plan_.kmers.k, plan_.kmers.canonical, tally_));
  shard_done();
}

backend::SessionReport DenseSession::report() const {
  StageTimes all;
  for (const StageTimes& times : times_) all.add(times);
  backend::SessionReport report;
  report.stages = all.reports({});
  return report;
}

}  // namespace warpmer::cpu
