#include "jobs/merqury_job.h"

#include <deque>
#include <vector>

#include "backend/indexes/index_set.h"
#include "host/limits.h"
#include "index/index_file.h"
#include "jobs/counted_assembly.h"

namespace warpmer::jobs {

backend::AssemblySpectra assembly_spectra(const MerquryOptions& options, backend::JobProgress& progress) {
  const host::Resources resources = host::settled(options.resources);
  std::vector<std::string> paths{options.reads};
  paths.insert(paths.end(), options.hapmers.begin(), options.hapmers.end());
  // Before anything is counted.
  const index::IndexParams params =
      backend::open_alike(paths, resources.memory_bytes, resources.threads).front().params();
  const AssemblyOptions counting{options.reading, resources, options.tmp_directory};
  std::deque<CountedAssembly> counted;
  for (const std::string& assembly : options.assemblies)
    paths.push_back(counted.emplace_back(counting, params, std::vector{assembly}, progress).path());
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
