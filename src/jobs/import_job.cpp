#include "jobs/import_job.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "backend/import_session.h"
#include "backend/index_params.h"
#include "backend/indexes/index_set.h"
#include "base/thread_team.h"
#include "formats/stream/count_width.h"
#include "host/limits.h"

namespace warpmer::jobs {
namespace {

/// K-mers that a thread takes at a time: some for each shard.
constexpr std::size_t kAtOnce = std::size_t{1} << 15;

class ImportJob {
 public:
  ImportJob(formats::KmerSource& source, const ImportOptions& options, backend::JobProgress& progress)
      : source_(source),
        options_(options),
        resources_(host::settled(options.resources)),
        threads_(resources_.threads),
        progress_(progress) {}

  IndexReport run() {
    const backend::ImportPlan plan = make_plan();
    const index::IndexParams params = backend::params_for(plan.k, plan.canonical);
    index::IndexWriter writer(options_.output, params, threads_);
    const auto session = backend::make_cpu_import_session(plan);
    read(*session);
    session->end_of_input();
    formats::warn_of_capped(source_.capped(), options_.input);
    SessionRun run(resources_, progress_);
    run.freeze(params.shards(), shards_of(*session), writer, backend::JobProgress::Stage::combining);
    const backend::Tally tally = session->tally();
    IndexReport report;
    run.finish(writer, totals(tally), tally.histogram(), options_.provenance, report);
    return report;
  }

 private:
  [[nodiscard]] backend::ImportPlan make_plan() const {
    const formats::StreamFacts& facts = source_.facts();
    backend::ImportPlan plan;
    plan.k = facts.k;
    plan.canonical = facts.canonical || options_.canonical;
    // Both strands of a k-mer may be in a file that says nothing of strands.
    plan.may_repeat = facts.may_repeat || plan.canonical != facts.canonical;
    plan.sum_duplicates = options_.sum_duplicates && plan.may_repeat;
    plan.threads = threads_;
    plan.expected_kmers = facts.distinct;
    plan.input = options_.input;
    const std::uint64_t memory_cap = resources_.memory_bytes;
    plan.other_bytes = backend::working_bytes(threads_) + memory_cap / plan.writer_share;
    host::check_memory(memory_cap, (backend::working_bytes(threads_) * 16 + 14) / 15, threads_);
    plan.memory_bytes = memory_cap - plan.other_bytes;
    return plan;
  }

  /// Returns the totals with the filter that the source was made with, as far as its counts keep to it.
  [[nodiscard]] index::Totals totals(const backend::Tally& tally) const {
    index::Totals totals = tally.totals();
    const index::Histogram histogram = tally.histogram();
    totals.min_count = source_.facts().min_count;
    if (!histogram.empty()) totals.min_count = std::min(totals.min_count, histogram.begin()->first);
    totals.max_count = std::max(source_.facts().max_count, totals.largest_count);
    return totals;
  }

  /// A source is read by one thread at a time, while others sort what they have read into shards.
  void read(backend::ImportSession& session) {
    progress_.stage = backend::JobProgress::Stage::reading;
    std::mutex mutex;
    bool can_read = true;  // guarded by the mutex
    std::atomic<bool> has_failed{false};
    run_team(
        threads_,
        [&](unsigned thread) {
          std::vector<formats::CountedKmer> kmers(kAtOnce);
          while (!has_failed) {
            std::size_t n = 0;
            {
              const std::lock_guard lock(mutex);
              if (!can_read) break;
              can_read = false;  // for good when reading fails: no thread goes on from there
              n = source_.read(kmers);
              can_read = n > 0;
            }
            session.add({kmers.data(), n}, thread);
            progress_.kmers += n;
          }
        },
        [&] { has_failed = true; });
  }

  formats::KmerSource& source_;
  const ImportOptions& options_;
  const host::Resources resources_;
  const unsigned threads_;
  backend::JobProgress& progress_;
};

}  // namespace

IndexReport run_import(formats::KmerSource& source, const ImportOptions& options,
                       backend::JobProgress& progress) {
  return ImportJob(source, options, progress).run();
}

}  // namespace warpmer::jobs
