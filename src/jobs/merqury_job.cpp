#include "jobs/merqury_job.h"

#include <deque>
#include <utility>

#include "backend/indexes/index_set.h"
#include "host/limits.h"
#include "index/index_file.h"
#include "jobs/count_job.h"
#include "jobs/temporary_index.h"

namespace warpmer::jobs {

backend::AssemblySpectra assembly_spectra(const MerquryOptions& options, backend::JobProgress& progress) {
  const host::Resources resources = host::settled(options.resources);
  std::vector<std::string> paths{options.reads};
  paths.insert(paths.end(), options.hapmers.begin(), options.hapmers.end());
  // Before anything is counted.
  const index::IndexParams params =
      backend::open_alike(paths, resources.memory_bytes, resources.threads).front().params();
  std::deque<TemporaryIndex> counted;
  for (const std::string& assembly : options.assemblies) {
    CountOptions own;
    own.kmers = {params.k, params.canonical};
    own.reading = options.reading;
    own.resources = resources;
    own.tmp_directory = options.tmp_directory;
    own.inputs = {assembly};
    own.output = counted.emplace_back(options.tmp_directory).path();
    count(own, progress);
    paths.push_back(own.output);
  }
  const std::vector<index::IndexFile> inputs =
      backend::open_alike(paths, resources.memory_bytes, resources.threads);
  const backend::WorkingMemory memory{resources.memory_bytes, backend::working_bytes(resources.threads), 0,
                                      resources.threads, inputs.size()};
  progress.shards_done = 0;
  backend::AssemblySpectra spectra =
      backend::find_assembly_spectra(inputs, options.assemblies.size(), memory, progress);
  progress.stage = backend::JobProgress::Stage::done;
  return spectra;
}

}  // namespace warpmer::jobs
