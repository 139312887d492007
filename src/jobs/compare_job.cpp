#include "jobs/compare_job.h"

#include "backend/indexes/index_set.h"
#include "base/error.h"
#include "host/limits.h"

namespace warpmer::jobs {

Comparison compare_indexes(const CompareOptions& options, backend::JobProgress& progress) {
  if (options.inputs.size() < 2)
    throw UsageError("one index has nothing to be compared with; name two or more");
  const host::Resources resources = host::settled(options.resources);
  const unsigned threads = resources.threads;
  const std::vector<index::IndexFile> inputs =
      backend::open_alike(options.inputs, resources.memory_bytes, threads,
                          threads * backend::ComparisonSums::bytes_for(options.inputs.size()));
  const backend::WorkingMemory memory{resources.memory_bytes, backend::working_bytes(threads), 0, threads,
                                      inputs.size()};
  Comparison found{inputs.front().params().k,
                   backend::compare_all(inputs, options.of_inputs, memory, progress)};
  progress.stage = backend::JobProgress::Stage::done;
  return found;
}

}  // namespace warpmer::jobs
