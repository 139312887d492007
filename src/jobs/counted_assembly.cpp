#include "jobs/counted_assembly.h"

#include <deque>
#include <utility>

#include "backend/indexes/index_set.h"
#include "host/limits.h"
#include "jobs/count_job.h"

namespace warpmer::jobs {

CountedAssembly::CountedAssembly(const AssemblyOptions& options, const index::IndexParams& reads,
                                 const std::vector<std::string>& files, backend::JobProgress& progress)
    : index_(options.tmp_directory, TemporaryIndex::IfMissing::make) {
  CountOptions own;
  own.kmers = {reads.k, reads.canonical};
  own.reading = options.reading;
  own.resources = options.resources;
  own.tmp_directory = options.tmp_directory;
  own.inputs = files;
  const bool is_file = files.size() == 1 && files.front() != "-" && !files.front().starts_with('@');
  if (is_file) own.input_name = files.front();
  own.output = index_.path();
  count(own, progress);
}

backend::CopySpectrum make_copy_spectrum(const std::string& reads, const CountedAssembly& assembly,
                                         const host::Resources& resources, backend::JobProgress& progress) {
  backend::WorkingMemory memory{.cap = resources.memory_bytes, .threads = resources.threads, .inputs = 2};
  const std::vector<index::IndexFile> inputs = backend::open_alike({reads, assembly.path()}, memory);
  progress.shards_done = 0;
  backend::AssemblySpectra found = backend::find_assembly_spectra(inputs, 1, memory, progress);
  progress.stage = backend::JobProgress::Stage::done;
  return std::move(found.spectra.front().front());
}

backend::AssemblySpectra assembly_spectra(const MerquryOptions& options, backend::JobProgress& progress) {
  const host::Resources resources = host::settled(options.resources);
  std::vector<std::string> paths{options.reads};
  paths.insert(paths.end(), options.hapmers.begin(), options.hapmers.end());
  const auto open = [&](backend::WorkingMemory& memory) {
    memory = {.cap = resources.memory_bytes, .threads = resources.threads, .inputs = paths.size()};
    return backend::open_alike(paths, memory);
  };
  backend::WorkingMemory memory;
  const index::IndexParams params = open(memory).front().params();  // before anything is counted
  const AssemblyOptions counting{options.reading, resources, options.tmp_directory};
  std::deque<CountedAssembly> counted;
  for (const std::string& assembly : options.assemblies)
    paths.push_back(counted.emplace_back(counting, params, std::vector{assembly}, progress).path());
  const std::vector<index::IndexFile> inputs = open(memory);
  progress.shards_done = 0;
  backend::AssemblySpectra spectra =
      backend::find_assembly_spectra(inputs, options.assemblies.size(), memory, progress);
  progress.stage = backend::JobProgress::Stage::done;
  return spectra;
}

}  // namespace warpmer::jobs
