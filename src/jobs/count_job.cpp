#include "jobs/count_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "backend/backend.h"
#include "backend/empty_input.h"
#include "backend/index_params.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory_text.h"
#include "base/warning.h"
#include "host/limits.h"
#include "host/tmp_directory.h"
#include "index/index_start.h"
#include "io/input_set.h"
#include "jobs/only_kmers.h"
#include "kmer/ownership.h"
#include "mpi/group_index.h"
#include "mpi/group_input.h"
#include "mpi/group_qualities.h"

namespace warpmer::jobs {

namespace {

/// Owners of shards, each of a range of equal length, are numbered through: ranks on CPUs, or the GPUs of all
/// ranks.
struct Owners {
  std::uint32_t first_own = 0, end_own = 1;  ///< this rank, or its GPUs
  std::uint32_t all = 1;

  [[nodiscard]] index::ShardRange own_shards(std::uint32_t shards) const {
    return {first_shard_of(first_own, all, shards), first_shard_of(end_own, all, shards)};
  }
};

/// Takes the shards of a job that wants to have the histogram alone.
class NoIndex final : public index::ShardOutput {
 public:
  void put(std::uint32_t /*shard*/, index::FrozenShard&& /*frozen*/) override {}
  void announce(std::uint32_t /*first*/, std::span<const index::ShardShape> /*shapes*/) override {}
  void announce(std::uint32_t /*first*/, std::span<const groups::ShardSizes> /*sizes*/) override {}
  [[nodiscard]] bool has_offset(std::uint32_t /*shard*/) const override { return false; }
  void leave_cache() noexcept override {}
};

/// Bytes that the k-mers of --only take besides, when they are few: their index, and what stays in the
/// process of making it, for each thread, too. (Of a panel of 5 kb, 256 threads: 23 MiB beyond the 8.)
constexpr std::uint64_t kFewOnlyBytes = std::uint64_t{8} << 20,
                        kFewOnlyThreadBytes = std::uint64_t{256} << 10;

class CountJob {
 public:
  /// The options are settled, and live as long.
  CountJob(const CountOptions& options, const Owners& owners, backend::JobProgress& progress)
      : options_(options),
        owners_(owners),
        progress_(progress),
        threads_(options.resources.threads),
        device_(options.device),
        ranks_(*options.ranks),
        run_(options.resources, progress) {}

  CountReport run() {
    retry_parsed(progress_, [&](bool may_take_text) { return read_and_count(may_take_text); });
    return report_;
  }

 private:
  /// False when all has to be read again without taking files for more regular than they must be.
  bool read_and_count(bool may_take_text) {
    mpi::GroupInput input(ranks_, options_.inputs, input_options_for(options_), threads_, may_take_text);
    const index::IndexParams params = backend::params_for(options_.kmers.k, options_.kmers.canonical);
    const index::ShardRange own_shards = owners_.own_shards(params.shards());
    std::optional<mpi::GroupIndex> index;
    if (!options_.histogram_only) {
      index.emplace(ranks_, own_shards, options_.output, params, threads_, run_.most_waiting_bytes(),
                    host::tmp_directory(options_.tmp_directory, options_.output));
    }
    const io::InputOptions reading = input_options_for(options_);
    std::uint64_t reading_bytes = input.own().memory_bytes(threads_);
    if (!options_.only.empty()) {
      if (!only_) make_only(input.own(), reading_bytes, reading.batch_bytes);
      reading_bytes += only_session_bytes(only_->index().file_bytes(), threads_, reading.batch_bytes);
    }
    auto session = with_fallback(device_, [&] {
      backend_ = make_backend(device_);
      return backend_->start(count_plan_for(options_, device_, run_, input.own(), reading_bytes));
    });
    if (only_) {
      session = make_only_session(std::move(session), only_->index(), options_.reading.lenient, threads_,
                                  reading.batch_bytes);
    }
    if (may_take_text && !only_) input.enable_raw_text(*backend_);
    const auto start = Clock::now();
    const backend::ReadTotals read = run_.read(input, *session, options_.kmers.k);
    report_.read_seconds = seconds_since(start);
    if (input.must_read_again()) return false;
    try {
      finish(*session, read, input, own_shards, index ? &*index : nullptr);
    } catch (...) {
      // At once: the session waits for those of other ranks when it goes.
      ranks_.report(std::current_exception());
      throw;
    }
    return true;
  }

  /// Opens the k-mers of --only. Before an index is made of them, a cap with which this job could not begin
  /// is refused; the one that is named suffices for both, if the k-mers are few.
  void make_only(const io::InputSet& input, std::uint64_t reading_bytes, std::size_t batch_bytes) {
    if (device_.gpus.empty() && !index::is_index_file(options_.only)) {
      const backend::CountPlan plan = count_plan_for(
          options_, device_, run_, input, reading_bytes + only_session_bytes(0, threads_, batch_bytes));
      auto forecast = make_backend(device_)->forecast(plan, {});
      if (forecast && !forecast->begins) {
        forecast->least_bytes += static_cast<double>(kFewOnlyBytes + threads_ * kFewOnlyThreadBytes);
        throw ResourceError(refusal_of(plan, *forecast));
      }
    }
    only_.emplace(options_);
  }

  /// `index` is null if there is to be none.
  void finish(backend::CountingSession& session, const backend::ReadTotals& read, mpi::GroupInput& input,
              const index::ShardRange& own_shards, mpi::GroupIndex* index) {
    const auto middle = Clock::now();
    NoIndex nothing;
    index::ShardOutput& output = index ? index->output() : nothing;
    if (session.spilled().written_bytes > 0) output.leave_cache();
    run_.freeze(own_shards.end - own_shards.first, shards_of(session), output,
                backend::JobProgress::Stage::counting, ranks_);
    index::Totals totals = session.tally().totals();
    totals.records = read.records;
    totals.bases = read.bases;
    totals.are_chosen = only_ ? 1 : 0;
    mpi::warn_of_phred64(ranks_, options_.reading.qualities);
    if (only_ && totals.counted_distinct == 0) {
      warn(fmt::format("none of the k-mers of {} is in the input", options_.only));
    } else if (!index) {
      backend::warn_if_empty(totals, options_.kmers.k, options_.input_name);
    }
    if (index) {
      write(*index, session, totals, input);
    } else {
      run_.fill_in(report_, totals, 0);
      report_.histogram = session.tally().histogram();
    }
    report_.count_seconds = seconds_since(middle);
    complete_report(session);
    report_.ranks = rank_reports(totals, index ? index->bytes_spilled() : 0);
    progress_.stage = backend::JobProgress::Stage::done;
  }

  void write(mpi::GroupIndex& index, const backend::CountingSession& session, const index::Totals& totals,
             mpi::GroupInput& input) {
    index::Provenance provenance = options_.provenance;
    provenance.inputs = input.own().files();
    index.finish(totals, session.tally().histogram(), provenance,
                 only_ && totals.counted_distinct == 0 ? "" : options_.input_name);
    run_.fill_in(report_, index.totals(), index.bytes_written());
  }

  void complete_report(const backend::CountingSession& session) {
    report_.device = fmt::format("{}, {}", backend_->describe(), number_of_threads(threads_));
    if (ranks_.are_several() && device_.gpus.empty()) {
      report_.device += fmt::format(", on each of {} ranks", ranks_.size());
    } else if (ranks_.are_several()) {
      report_.device += fmt::format(", on rank 0 of {}, which have {} GPUs", ranks_.size(), owners_.all);
    }
    if (device_.cpu_devices > 1) report_.device += fmt::format(", acting as {} devices", device_.cpu_devices);
    report_.device_choice = device_;
    report_.cpu_seconds = host::cpu_seconds();
    static_cast<backend::SessionReport&>(report_) = session.report();
    report_.stages.push_back({"write", run_.write_seconds(), report_.index_bytes});
  }

  /// Returns the reports of all ranks, on rank 0.
  std::vector<RankReport> rank_reports(const index::Totals& own, std::uint64_t index_bytes_spilled) {
    std::vector<RankReport> reports;
    if (!ranks_.are_several()) return reports;
    RankReport report{.distinct_kmers = own.counted_distinct,
                      .peak_resident_bytes = report_.peak_resident_bytes,
                      .spilled_bytes = report_.spilled.written_bytes + index_bytes_spilled,
                      .read_seconds = report_.read_seconds,
                      .cpu_seconds = report_.cpu_seconds};
    for (const backend::OwnerLoad& load : report_.owner_loads) report.super_kmers += load.super_kmers;
    mpi::Message message;
    mpi::put_plain(message, report);
    for (const mpi::Message& each : ranks_.gather(std::move(message)))
      reports.push_back(mpi::MessageReader(each).plain<RankReport>());
    return reports;
  }

  const CountOptions& options_;
  const Owners owners_;
  backend::JobProgress& progress_;
  unsigned threads_;
  DeviceChoice device_;
  mpi::ProcessGroup& ranks_;
  SessionRun run_;
  std::optional<OnlyKmers> only_;
  std::unique_ptr<backend::Backend> backend_;
  CountReport report_;
};

/// To be called on all ranks together. UsageError when some are on CPUs and others on GPUs, between which
/// super-k-mers do not travel, and when there are more GPUs than can count together.
Owners owners_of(mpi::ProcessGroup& ranks, const DeviceChoice& device) {
  const std::vector<std::uint64_t> gpus = ranks.all_gather(device.gpus.size());
  const auto on_cpus = std::count(gpus.begin(), gpus.end(), 0u);
  if (on_cpus > 0 && on_cpus < std::ssize(gpus)) {
    throw UsageError(
        fmt::format("{} of {} ranks were told to count on CPUs and the others on GPUs; give all of "
                    "them the same --device",
                    on_cpus, gpus.size()));
  }
  const auto rank = static_cast<std::ptrdiff_t>(ranks.rank());
  if (on_cpus > 0) return {ranks.rank(), ranks.rank() + 1, ranks.size()};
  const auto all = std::accumulate(gpus.begin(), gpus.end(), std::uint64_t{0});
  if (all > backend::kMostGpus) {
    throw UsageError(
        fmt::format("{} ranks were told to count on {} GPUs, and {} at most can count together; "
                    "start fewer, name fewer GPUs by --device cuda:N,M, or use --device cpu",
                    gpus.size(), all, backend::kMostGpus));
  }
  const auto before = std::accumulate(gpus.begin(), gpus.begin() + rank, std::uint64_t{0});
  return {static_cast<std::uint32_t>(before),
          static_cast<std::uint32_t>(before + gpus[static_cast<std::size_t>(rank)]),
          static_cast<std::uint32_t>(all)};
}

}  // namespace

void check_options(const CountOptions& options) {
  const std::uint32_t k = options.kmers.k;
  if (k < 1 || k > kMaxK)
    throw UsageError(fmt::format("k is {}; warpmer counts k-mers of 1 to {} bases", k, kMaxK));
  const auto [least, most] = options.kept;
  if (least < 1) throw UsageError("the smallest count kept is at least 1");
  if (least > most) {
    throw UsageError(
        fmt::format("the smallest count kept ({}) is larger than the largest ({})", least, most));
  }
  if (options.histogram_only && options.ranks->are_several())
    throw UsageError("a histogram without an index is made by one process; start it without mpirun or srun");
  if (!options.only.empty() && options.ranks->are_several())
    throw UsageError("--only is for a job of one process; start it without mpirun or srun");
}

io::InputOptions input_options_for(const CountOptions& options) {
  const unsigned threads = options.resources.threads;
  const std::uint64_t memory_bytes = options.resources.memory_bytes;
  // With --only, a number of 8 bytes for every base of a batch.
  constexpr std::size_t kBatchBytes = std::size_t{4} << 20;
  return {.reading = options.reading,
          .overlap_bases = options.kmers.k - 1,
          .threads = threads,
          .batch_bytes = options.only.empty() ? kBatchBytes : kBatchBytes / 2,
          .longest_record_bytes = host::longest_record_bytes(memory_bytes, threads)};
}

backend::CountPlan count_plan_for(const CountOptions& options, const DeviceChoice& device,
                                  const SessionRun& run, const io::InputSet& input,
                                  std::uint64_t reading_bytes) {
  backend::CountPlan plan;
  plan.kmers = options.kmers;
  plan.kept = options.kept;
  plan.histogram_only = options.histogram_only;
  plan.table = options.table;
  plan.reading = options.reading;
  plan.devices = device;
  plan.ranks = options.ranks;
  plan.spill = {host::tmp_directory(options.tmp_directory, options.output), !options.tmp_directory.empty()};
  run.complete(plan, input, reading_bytes);
  return plan;
}

std::string refusal_of(const backend::CountPlan& plan, const backend::SessionForecast& forecast) {
  return host::memory_refusal(plan.memory_cap_bytes, fmt::format("counting {}-mers", plan.kmers.k),
                              plan.threads,
                              plan.other_bytes + static_cast<std::uint64_t>(forecast.least_bytes));
}

CountReport count(const CountOptions& options, backend::JobProgress& progress) {
  check_options(options);
  const Owners owners = options.ranks->are_several() ? owners_of(*options.ranks, options.device) : Owners();
  CountOptions settled_options = options;
  settled_options.resources = host::settled(options.resources, options.ranks->is_first());
  return CountJob(settled_options, owners, progress).run();
}

}  // namespace warpmer::jobs
