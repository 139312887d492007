#include "engine/count_job.h"

#include <fmt/core.h>

#include <chrono>

#include "core/error.h"
#include "core/minimizer.h"
#include "engine/backend.h"
#include "engine/index_params.h"
#include "engine/limits.h"
#include "engine/tmp_directory.h"
#include "io/input.h"
#include "io/quality.h"

namespace warpmer::engine {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class CountJob {
 public:
  CountJob(const CountOptions& options, JobProgress& progress)
      : options_(options),
        progress_(progress),
        threads_(threads_or_all(options.threads)),
        // Unasked, stay clear of the limit at which the kernel kills.
        memory_cap_(memory_or_most(options.memory_bytes)),
        device_(options.device),
        run_(threads_, memory_cap_, progress) {}

  CountReport run() {
    try {
      return read_and_count(true);
    } catch (const io::NotPlainText&) {
      // What the backend has taken for records were none, or were not like others: begin again, carefully.
    }
    progress_.kmers = 0;
    return read_and_count(false);
  }

 private:
  CountReport read_and_count(bool may_take_text) {
    io::InputSet input(options_.inputs, input_options_for(options_));
    index::IndexWriter writer(options_.output, params_for(options_.k, options_.canonical), threads_);
    const auto session = with_fallback(device_, [&] {
      backend_ = make_backend(device_);
      return backend_->start(count_plan_for(options_, device_, run_, input));
    });
    const io::TextMemory* const text_memory = backend_->text_memory();
    if (may_take_text && text_memory != nullptr) input.hand_over_text(*text_memory);
    const auto start = Clock::now();
    const ReadTotals read = run_.read(input, *session, options_.k);
    report_.read_seconds = seconds_since(start);
    const auto middle = Clock::now();
    run_.freeze(1u << shard_bits(options_.k), shards_of(*session), writer);
    index::Totals totals = session->tally().totals();
    totals.records = read.records;
    totals.bases = read.bases;
    index::Provenance provenance = options_.provenance;
    provenance.inputs = input.files();
    run_.finish(writer, totals, session->tally().histogram(), provenance, report_);
    report_.count_seconds = seconds_since(middle);
    complete_report(*session, writer);
    return report_;
  }

  void complete_report(const CountingSession& session, const index::IndexWriter& writer) {
    report_.device = fmt::format("{}, {} thread{}", backend_->describe(), threads_, threads_ == 1 ? "" : "s");
    if (device_.cpu_devices > 1) report_.device += fmt::format(", acting as {} devices", device_.cpu_devices);
    report_.device_choice = device_;
    report_.early_counts = session.early_counts();
    report_.spilled = session.spilled();
    report_.cpu_seconds = cpu_seconds();
    report_.overlap = session.overlap();
    report_.stages = session.stages();
    report_.owner_loads = session.owner_loads();
    report_.stages.push_back({"write", run_.write_seconds(), writer.bytes_written()});
  }

  const CountOptions& options_;
  JobProgress& progress_;
  unsigned threads_;
  std::uint64_t memory_cap_;
  DeviceChoice device_;
  SessionRun run_;
  std::unique_ptr<Backend> backend_;
  CountReport report_;
};

}  // namespace

void check_options(const CountOptions& options) {
  if (options.k < 1 || options.k > kMaxK)
    throw UsageError(fmt::format("k is {}; warpmer counts k-mers of 1 to {} bases", options.k, kMaxK));
  if (options.min_count < 1) throw UsageError("the smallest count kept is at least 1");
  if (options.min_count > options.max_count) {
    throw UsageError(fmt::format("the smallest count kept ({}) is larger than the largest ({})",
                                 options.min_count, options.max_count));
  }
}

io::InputOptions input_options_for(const CountOptions& options) {
  io::InputOptions input;
  input.overlap_bases = options.k - 1;
  input.min_base_quality = options.min_base_quality;
  input.reference = options.reference;
  input.threads = threads_or_all(options.threads);
  return input;
}

CountPlan count_plan_for(const CountOptions& options, const DeviceChoice& device, const SessionRun& run,
                         const io::InputSet& input) {
  CountPlan plan;
  plan.k = options.k;
  plan.canonical = options.canonical;
  plan.lenient = options.lenient;
  plan.lowest_quality = io::lowest_unmasked(options.min_base_quality);
  plan.min_count = options.min_count;
  plan.max_count = options.max_count;
  plan.table = options.table;
  plan.devices = device.gpus.empty() ? device.cpu_devices : static_cast<unsigned>(device.gpus.size());
  plan.device_memory_bytes = device.device_memory_bytes;
  plan.tmp_directory = tmp_directory(options.tmp_directory, options.output);
  plan.tmp_directory_is_chosen = !options.tmp_directory.empty();
  run.complete(plan, input, input.memory_bytes(threads_or_all(options.threads)));
  return plan;
}

CountReport count(const CountOptions& options, JobProgress& progress) {
  check_options(options);
  return CountJob(options, progress).run();
}

}  // namespace warpmer::engine
