#include "jobs/live_job.h"

#include <fmt/format.h>

#include <cstddef>
#include <mutex>

#include "backend/index_params.h"
#include "backend/live/read_totals.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "index/writer/index_writer.h"
#include "io/input_set.h"

namespace warpmer::jobs {

namespace {

/// It is known batch by batch what is in, or out.
constexpr std::size_t kLiveBatchBytes = std::size_t{1} << 20;

}  // namespace

LiveReadReport change_live(backend::LiveTable& table, const LiveReadOptions& options,
                           backend::JobProgress& progress) {
  const std::uint32_t k = options.kmers.k;
  io::InputSet inputs(options.inputs, {.reading = options.reading,
                                       .overlap_bases = k - 1,
                                       .threads = options.threads,
                                       .batch_bytes = kLiveBatchBytes});
  progress.stage = backend::JobProgress::Stage::reading;
  std::mutex mutex;
  LiveReadReport report;
  const auto change = [&](const io::Batch& batch) {
    backend::Removal done;
    if (options.is_removal) {
      done = table.remove(batch, options.reading.lenient);
    } else {
      done.kmers = table.add(batch, options.reading.lenient);
    }
    const backend::LiveTotals reads = backend::reads_of(batch, k);
    const std::lock_guard lock(mutex);
    report.read.kmers += done.kmers;
    report.read.records += reads.records;
    report.read.bases += reads.bases;
    report.shortfall.merge(done.shortfall);
    progress.kmers = report.read.kmers;
  };
  const auto work = [&](unsigned /*thread*/) {
    io::Batch batch;
    while (inputs.next(batch)) {
      change(batch);
      const io::InputProgress bytes = inputs.progress();
      progress.bytes_done = bytes.bytes_done;
      progress.bytes_total = bytes.bytes_total;
    }
  };
  try {
    run_team(options.threads, work, [&] { inputs.cancel(); });
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}; by then {} of the reads were {}", error.what(),
                                          report.read.records, options.is_removal ? "removed" : "added"));
  }
  return report;
}

IndexReport write_live(backend::LiveTable& table, const LiveIndexOptions& options,
                       backend::JobProgress& progress) {
  const index::IndexParams params = backend::params_for(options.kmers.k, options.kmers.canonical);
  SessionRun run(options.resources, progress);
  index::IndexWriter writer(options.output, params, options.resources.threads);
  const auto snapshot = table.snapshot();
  run.freeze(params.shards(), shards_of(*snapshot), writer, backend::JobProgress::Stage::writing);
  const backend::Tally tally = snapshot->tally();
  IndexReport report;
  run.finish(writer, backend::totals_of(tally, snapshot->totals()), tally.histogram(), options.provenance,
             report);
  return report;
}

}  // namespace warpmer::jobs
