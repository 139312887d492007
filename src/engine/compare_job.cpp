#include "engine/compare_job.h"

#include "core/error.h"
#include "engine/index_set.h"
#include "engine/limits.h"
#include "engine/thread_team.h"

namespace warpmer::engine {

Comparison compare_indexes(const CompareOptions& options, JobProgress& progress) {
  if (options.inputs.size() < 2)
    throw UsageError("one index has nothing to be compared with; name two or more");
  const std::uint64_t memory_cap = memory_or_most(options.memory_bytes);
  const unsigned threads = threads_or_all(options.threads);
  const std::vector<index::IndexFile> inputs = open_alike(options.inputs, memory_cap, threads);
  const WorkingMemory memory{memory_cap, working_bytes(threads), 0, threads, inputs.size()};
  const auto session = make_cpu_comparison(inputs, options.of_inputs, memory);
  progress.shards_total = inputs.front().params().shards();
  progress.stage = JobProgress::Stage::combining;
  run_team(
      threads, [&](unsigned thread) { session->finish(thread, [&] { ++progress.shards_done; }); },
      [&] { session->cancel(); });
  progress.stage = JobProgress::Stage::done;
  return {inputs.front().params().k, session->take_table()};
}

}  // namespace warpmer::engine
