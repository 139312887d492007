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
  backend::WorkingMemory memory{
      .cap = resources.memory_bytes,
      .kept_bytes = threads * backend::ComparisonSums::bytes_for(options.inputs.size()),
      .threads = threads,
      .inputs = options.inputs.size()};
  const std::vector<index::IndexFile> inputs = backend::open_alike(options.inputs, memory);
  Comparison found{inputs.front().params().k,
                   backend::compare_all(inputs, options.of_inputs, memory, progress)};
  progress.stage = backend::JobProgress::Stage::done;
  return found;
}

}  // namespace warpmer::jobs
