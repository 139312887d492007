#include "jobs/plan_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory_text.h"
#include "base/thread_team.h"
#include "file/spill_file.h"
#include "host/gpus.h"
#include "host/limits.h"
#include "index/index_layout.h"
#include "jobs/only_kmers.h"
#include "kmer/minimizer.h"

namespace warpmer::jobs {

namespace {

/// Factor by which times may be off that were measured on a sample: caches, disks and neighbours are not the
/// same for long.
constexpr double kTimeFactor = 1.6;
/// Shards that are counted early are counted, and merged, more than once.
constexpr double kEarlyCountFactor = 2;

/// The part of what the backend sets aside that is touched, about (docs/plan.md, the table at the end).
constexpr double kUsedReserve = 0.25;
/// The job's command line is hardly longer than the plan's by more.
constexpr double kCommandLineBytes = 256;
/// Small, so that a sample is many of them: how they differ is what errors are measured by.
constexpr std::size_t kBatchBytes = std::size_t{1} << 20;

/// Returns the job with as much memory as there is. What is read to plan it is no matter of its cap: a cap
/// that is too small is what a plan is to find out.
CountOptions with_memory_to_plan(CountOptions job) {
  job.resources = host::settled({job.resources.threads}, false);
  return job;
}

/// Returns a value for each end of a range, and of what is between them.
template <class Value>
stats::Range at_each(Value&& value) {
  return {value(&stats::Range::low), value(&stats::Range::estimate), value(&stats::Range::high)};
}

class PlanJob {
 public:
  /// The options are settled, and live as long.
  PlanJob(const PlanOptions& options, backend::JobProgress& progress)
      : options_(options),
        progress_(progress),
        threads_(options.count.resources.threads),
        team_(std::min(threads_, host::usable_cores())),
        resident_bytes_(host::resident_bytes()) {
    if (!options.count.only.empty()) only_.emplace(with_memory_to_plan(options.count));
    plan_ = plan_of_job();
  }

  PlanReport run() {
    const auto start = Clock::now();
    read_sample();
    report_.shards = static_cast<std::uint32_t>(sample_.shards.size());
    for (const backend::ShardSample& shard : sample_.shards)
      report_.counted_shards += shard.is_counted ? 1 : 0;
    report_.kmers = stats::predict_kmers(sample_, reads_, plan_);
    if (only_) limit_kmers(static_cast<double>(only_->index().totals().stored_distinct));
    predict_index();
    predict_memory();
    try_tmp_directory();
    predict_time();
    report_.seconds = seconds_since(start);
    progress_.stage = backend::JobProgress::Stage::done;
    return report_;
  }

 private:
  /// Returns what the job would tell its backend.
  backend::CountPlan plan_of_job() {
    report_.resources = options_.count.resources;
    const io::InputSet input(options_.count.inputs, input_options_for(options_.count));
    const SessionRun run(options_.count.resources, progress_);
    std::uint64_t reading_bytes = input.memory_bytes(threads_);
    if (only_) {
      reading_bytes += only_session_bytes(only_->index().file_bytes(), threads_,
                                          input_options_for(options_.count).batch_bytes);
    }
    return count_plan_for(options_.count, options_.count.device, run, input, reading_bytes);
  }

  void read_sample() {
    io::InputOptions input_options = input_options_for(options_.count);
    input_options.threads = team_;
    input_options.batch_bytes = kBatchBytes;
    input_options.sample_bytes = options_.full ? 0 : options_.sample_bytes;
    io::InputSet input(options_.count.inputs, input_options);
    backend::SamplePlan sample_plan;
    sample_plan.count = plan_;
    sample_plan.count.threads = team_;
    sample_plan.count.memory_bytes = UINT64_MAX / 2;
    const std::uint64_t all_bytes = input.progress().bytes_total;
    const bool is_all = input_options.sample_bytes == 0 || input_options.sample_bytes >= all_bytes;
    sample_plan.halves = !is_all;
    auto session = backend::make_cpu_sample(sample_plan);
    if (only_) {
      session = make_only_sample(std::move(session), only_->index(), options_.count.reading.lenient, team_,
                                 kBatchBytes);
    }
    const auto start = Clock::now();
    read(input, *session);
    read_seconds_ = seconds_since(start);
    progress_.stage = backend::JobProgress::Stage::counting;
    run_team(
        team_, [&](unsigned thread) { session->finish(thread); }, [] {});
    sample_ = session->sample();
    reads_.total_bytes = all_bytes;
    reads_.begun_inputs = input.begun_inputs();
    reads_.records = input.records();
    for (const stats::SampledBatch& batch : reads_.batches) {
      report_.sample_bytes += batch.input_bytes;
      report_.sample_kmers += batch.kmers;
    }
    reads_.is_whole = is_all || report_.sample_bytes >= all_bytes;
    report_.is_whole = reads_.is_whole;
    report_.input_bytes = all_bytes;
    report_.begun_inputs = reads_.is_whole ? 0 : reads_.begun_inputs;
  }

  void read(io::InputSet& input, backend::SampleSession& session) {
    progress_.stage = backend::JobProgress::Stage::reading;
    std::mutex mutex;
    std::atomic<bool> failed{false};
    run_team(
        team_,
        [&](unsigned thread) {
          io::Batch batch;
          std::vector<stats::SampledBatch> batches;
          while (!failed && input.next(batch)) {
            batches.push_back({session.add(batch, thread), batch.input_bytes});
            progress_.kmers += batches.back().kmers;
            progress_.bytes_done = input.progress().bytes_done;
          }
          const std::lock_guard lock(mutex);
          reads_.batches.insert(reads_.batches.end(), batches.begin(), batches.end());
        },
        [&] {
          failed = true;
          input.cancel();
        });
    // In whatever order threads have read them, sums come out the same.
    std::sort(reads_.batches.begin(), reads_.batches.end(),
              [](const stats::SampledBatch& a, const stats::SampledBatch& b) {
                return std::pair(a.kmers, a.input_bytes) < std::pair(b.kmers, b.input_bytes);
              });
  }

  /// There are no more k-mers than those that were chosen.
  void limit_kmers(double most) {
    stats::KmerPrediction& kmers = report_.kmers;
    for (double stats::Range::*end : {&stats::Range::low, &stats::Range::estimate, &stats::Range::high}) {
      if (kmers.distinct.*end <= most) continue;
      const double share = most / kmers.distinct.*end;
      kmers.distinct.*end = most;
      kmers.stored.*end = std::min(kmers.stored.*end, most);
      kmers.run_bytes.*end *= share;
      kmers.payload_bytes.*end *= share;
    }
  }

  void predict_index() {
    index::Histogram stored;
    for (const auto& [count, kmers] : sample_.histogram) {
      if (plan_.kept.contains(count)) stored[count] = kmers;
    }
    index::Provenance provenance = options_.count.provenance;
    provenance.inputs = options_.count.inputs;
    namespace layout = index::layout;
    const std::size_t around = layout::kHeaderBytes + layout::kTotalsBytes +
                               layout::encode_histogram(stored).size() +
                               layout::encode_provenance(provenance).size() + layout::kTrailerBytes;
    const stats::Range directory = stats::directory_bytes(sample_, report_.kmers);
    report_.index_bytes = at_each([&](double stats::Range::*end) {
      return report_.kmers.payload_bytes.*end + directory.*end + static_cast<double>(around);
    });
    // The index will have the command line of the job, not that of the plan.
    report_.index_bytes.low -= static_cast<double>(provenance.command_line.size());
    report_.index_bytes.high += kCommandLineBytes;
  }

  void predict_memory() {
    DeviceChoice device = options_.count.device;
    const auto backend = with_fallback(device, [&] { return make_backend(device); });
    report_.device = fmt::format("{}, {}", backend->describe(), number_of_threads(threads_));
    const auto forecast_at = [&](double stats::Range::*end) {
      const stats::KmerPrediction& kmers = report_.kmers;
      return backend->forecast(plan_,
                               {kmers.occurrences.*end, kmers.pending_bytes.*end, kmers.run_bytes.*end});
    };
    const auto low = forecast_at(&stats::Range::low), middle = forecast_at(&stats::Range::estimate),
               high = forecast_at(&stats::Range::high);
    if (!low || !middle || !high) return predict_device_memory(device);
    const auto of = [&](double backend::SessionForecast::*value, double more) {
      return stats::Range{more + (*low).*value, more + (*middle).*value, more + (*high).*value};
    };
    const auto other = static_cast<double>(plan_.other_bytes), idle = static_cast<double>(resident_bytes_);
    report_.needed_memory_bytes = of(&backend::SessionForecast::least_bytes, other);
    report_.unhurried_memory_bytes = of(&backend::SessionForecast::unhurried_bytes, other);
    report_.needed_memory_bytes->high += host::kResidentVariation;
    report_.unhurried_memory_bytes->high += host::kResidentVariation;
    report_.beyond_memory_bytes = of(&backend::SessionForecast::beyond_bytes, 0);
    report_.temporary_bytes = of(&backend::SessionForecast::temporary_bytes, 0);
    widen_temporary_bytes();
    const auto cap = static_cast<double>(report_.resources.memory_bytes);
    const stats::Range least = of(&backend::SessionForecast::peak_low_bytes, idle);
    const stats::Range most = of(&backend::SessionForecast::peak_high_bytes, other);
    report_.memory_bytes =
        stats::Range{std::min(least.low, cap),
                     std::min(least.estimate + kUsedReserve * (most.estimate - least.estimate), cap),
                     std::min(most.high, cap)};
    if (!middle->begins) report_.refusal = refusal_of(plan_, *middle);
  }

  /// Widens the range of temporary bytes. They depend on what shards have when it is their turn; on how full
  /// memory is in the end; and, where k-mers come often, on how soon counting early is found to pay.
  void widen_temporary_bytes() {
    constexpr double kUncertain = 0.1, kUncertainOfCap = 1.0 / 16;
    stats::Range& temporary = *report_.temporary_bytes;
    const stats::Range& beyond = *report_.beyond_memory_bytes;
    if (temporary.estimate < beyond.estimate) {
      temporary.low = 0;
      temporary.high = std::max(temporary.high, std::min(beyond.high, report_.kmers.pending_bytes.high));
    }
    if (temporary.high == 0) return;
    const double more = std::max(kUncertain * temporary.high,
                                 kUncertainOfCap * static_cast<double>(report_.resources.memory_bytes));
    temporary.low = std::max(0.0, std::min(temporary.low, temporary.estimate) - more);
    temporary.high = std::max(temporary.high, temporary.estimate) + more;
  }

  /// A job opens a directory that was chosen before it reads, whether it needs it or not.
  void try_tmp_directory() {
    if (!plan_.spill.is_chosen || plan_.kmers.k <= kMaxDenseK || !report_.refusal.empty()) return;
    try {
      const file::SpillFile file(plan_.spill.directory);
    } catch (const ResourceError& error) {
      report_.refusal = error.what();
    }
  }

  /// The device's pending words, as far as there is room: what else it holds depends on what it finds.
  void predict_device_memory(const DeviceChoice& device) {
    double cap = static_cast<double>(device.memory_bytes);
    if (cap == 0 && !device.gpus.empty()) {
      host::GpuSurvey survey = host::survey_gpus();
      host::measure_gpus(survey, {device.gpus.front()});
      for (const host::Gpu& gpu : survey.gpus) {
        if (gpu.ordinal == device.gpus.front()) cap = static_cast<double>(gpu.free_bytes);
      }
    }
    const stats::Range& pending = report_.kmers.pending_bytes;
    report_.device_memory_bytes =
        stats::Range{std::min(pending.low, cap), std::min(pending.estimate * 1.25, cap), cap};
    predict_spilled(cap);
  }

  /// Predicts what goes from the device to host memory and on to temporary files.
  void predict_spilled(double device_cap) {
    // More is said in docs/memory.md: words have a third of a device's memory, or two, and in the end less.
    const stats::Range& pending = report_.kmers.pending_bytes;
    stats::Range beyond{std::max(0.0, pending.low - device_cap),
                        std::max(0.0, pending.estimate - device_cap * 2 / 3),
                        pending.high > device_cap / 3 ? pending.high : 0};
    // Where k-mers come often, they are counted early.
    if (report_.kmers.run_bytes.low < pending.high / 2) beyond.low = 0;
    const double host =
        static_cast<double>(plan_.memory_bytes) - static_cast<double>(plan_.memory_cap_bytes) / 16;
    report_.beyond_memory_bytes = beyond;
    report_.temporary_bytes =
        stats::Range{std::max(0.0, beyond.low - host), std::max(0.0, beyond.estimate - host),
                     host < beyond.high * 2 ? beyond.high : 0};
  }

  void predict_time() {
    if (!options_.count.device.gpus.empty()) return;
    std::uint64_t counted = 0;
    for (const backend::ShardSample& shard : sample_.shards) counted += shard.is_counted ? shard.kmers : 0;
    const stats::Range& kmers = report_.kmers.occurrences;
    const auto times = [&](double seconds, double slower) {
      const double relative = kmers.estimate > 0 ? 1 / kmers.estimate : 0;
      return stats::Range{seconds * kmers.low * relative / kTimeFactor, seconds,
                          seconds * kmers.high * relative * kTimeFactor * slower};
    };
    // Small k is an array of all k-mers, which one thread goes through, however few there are.
    const bool is_dense = sample_.word_bytes == 0;
    const double more = counted > 0 && !is_dense ? kmers.estimate / static_cast<double>(counted) / team_ : 1;
    const bool is_early = report_.beyond_memory_bytes && report_.beyond_memory_bytes->high > 0;
    report_.read_seconds = times(read_seconds_ / report_.kmers.share, 1);
    report_.count_seconds = times(sample_.count_seconds * more, is_early ? kEarlyCountFactor : 1);
  }

  const PlanOptions& options_;
  backend::JobProgress& progress_;
  PlanReport report_;
  const unsigned threads_;
  const unsigned team_;  ///< threads that read the sample
  const std::uint64_t resident_bytes_;
  std::optional<OnlyKmers> only_;
  backend::CountPlan plan_;
  stats::SampledReads reads_;
  backend::KmerSample sample_;
  double read_seconds_ = 0;
};

}  // namespace

PlanReport plan(const PlanOptions& options, backend::JobProgress& progress) {
  check_options(options.count);
  PlanOptions settled_options = options;
  settled_options.count.resources = host::settled(options.count.resources, false);
  return PlanJob(settled_options, progress).run();
}

}  // namespace warpmer::jobs
