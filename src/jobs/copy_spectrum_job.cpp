#include "jobs/copy_spectrum_job.h"

#include <utility>

#include "backend/indexes/index_set.h"
#include "host/limits.h"
#include "host/tmp_directory.h"
#include "jobs/temporary_index.h"

namespace warpmer::jobs {
namespace {

void count_assembly(const CopySpectrumOptions& options, const host::Resources& resources,
                    const std::string& output, backend::JobProgress& progress) {
  const index::IndexParams params = index::IndexFile(options.reads).params();
  CountOptions own;
  own.kmers.k = params.k;
  own.kmers.canonical = params.canonical;
  own.reading = options.reading;
  own.resources = resources;
  own.tmp_directory = options.tmp_directory;
  own.inputs = options.assembly;
  own.output = output;
  count(own, progress);
}

}  // namespace

backend::CopySpectrum make_copy_spectrum(const CopySpectrumOptions& options, backend::JobProgress& progress) {
  const host::Resources resources = host::settled(options.resources);
  const unsigned threads = resources.threads;
  const TemporaryIndex assembly(host::tmp_directory(options.tmp_directory, options.output));
  count_assembly(options, resources, assembly.path(), progress);
  const std::vector<index::IndexFile> inputs =
      backend::open_alike({options.reads, assembly.path()}, resources.memory_bytes, threads);
  const backend::WorkingMemory memory{resources.memory_bytes, backend::working_bytes(threads), 0, threads,
                                      inputs.size()};
  progress.shards_done = 0;
  backend::AssemblySpectra found = backend::find_assembly_spectra(inputs, 1, memory, progress);
  progress.stage = backend::JobProgress::Stage::done;
  return std::move(found.spectra.front().front());
}

}  // namespace warpmer::jobs
