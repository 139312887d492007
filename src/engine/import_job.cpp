#include "engine/import_job.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "core/error.h"
#include "engine/import_session.h"
#include "engine/index_params.h"
#include "engine/index_set.h"
#include "engine/limits.h"
#include "engine/thread_team.h"
#include "formats/count_width.h"

namespace warpmer::engine {
namespace {

/// K-mers that a thread takes at a time: some for each shard.
constexpr std::size_t kAtOnce = std::size_t{1} << 15;

class ImportJob {
 public:
  ImportJob(formats::KmerSource& source, const ImportOptions& options, JobProgress& progress)
      : source_(source),
        options_(options),
        threads_(threads_or_all(options.threads)),
        memory_cap_(memory_or_most(options.memory_bytes)),
        progress_(progress) {}

  IndexReport run() {
    const ImportPlan plan = make_plan();
    const index::IndexParams params = params_for(plan.k, plan.canonical);
    index::IndexWriter writer(options_.output, params, threads_);
    const auto session = make_cpu_import_session(plan);
    read(*session);
    session->end_of_input();
    formats::warn_of_capped(source_.capped(), options_.input);
    SessionRun run(threads_, memory_cap_, progress_);
    run.freeze(params.shards(), shards_of(*session), writer, JobProgress::Stage::combining);
    const Tally tally = session->tally();
    IndexReport report;
    run.finish(writer, totals(tally), tally.histogram(), options_.provenance, report);
    return report;
  }

 private:
  [[nodiscard]] ImportPlan make_plan() const {
    const formats::StreamFacts& facts = source_.facts();
    ImportPlan plan;
    plan.k = facts.k;
    plan.canonical = facts.canonical || options_.canonical;
    plan.sum_duplicates = options_.sum_duplicates;
    plan.threads = threads_;
    plan.expected_kmers = facts.distinct;
    plan.input = options_.input;
    plan.other_bytes = working_bytes(threads_) + memory_cap_ / plan.writer_share;
    check_memory(memory_cap_, (working_bytes(threads_) * 16 + 14) / 15, threads_);
    plan.memory_bytes = memory_cap_ - plan.other_bytes;
    return plan;
  }

  /// With the filter that the source was made with, as far as its counts keep to it.
  [[nodiscard]] index::Totals totals(const Tally& tally) const {
    index::Totals totals = tally.totals();
    const index::Histogram histogram = tally.histogram();
    totals.min_count = source_.facts().min_count;
    if (!histogram.empty()) totals.min_count = std::min(totals.min_count, histogram.begin()->first);
    totals.max_count = std::max(source_.facts().max_count, totals.largest_count);
    return totals;
  }

  /// A source is read by one thread at a time, while others sort what they have read into shards.
  void read(ImportSession& session) {
    progress_.stage = JobProgress::Stage::reading;
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
              can_read = false;  // for good when reading fails: nobody goes on from there
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
  unsigned threads_;
  std::uint64_t memory_cap_;
  JobProgress& progress_;
};

}  // namespace

IndexReport run_import(formats::KmerSource& source, const ImportOptions& options, JobProgress& progress) {
  return ImportJob(source, options, progress).run();
}

}  // namespace warpmer::engine
