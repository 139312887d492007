#pragma once
/// An assembly whose k-mers are to stand beside those of reads.

#include <string>
#include <vector>

#include "backend/indexes/copy_spectra.h"
#include "backend/job_progress.h"
#include "index/index_file.h"
#include "io/input_set.h"
#include "jobs/session_run.h"
#include "jobs/temporary_index.h"

namespace warpmer::jobs {

/// How assemblies are counted.
struct AssemblyOptions {
  io::ReadingOptions reading;
  host::Resources resources;  ///< settled
  std::string tmp_directory;  ///< for their indexes
};

/// Some files of sequences in one index, which goes with this object.
class CountedAssembly {
 public:
  /// Counts with the k and strand of the reads' index. Throws Error.
  CountedAssembly(const AssemblyOptions& options, const index::IndexParams& reads,
                  const std::vector<std::string>& files, backend::JobProgress& progress);

  [[nodiscard]] const std::string& path() const noexcept { return index_.path(); }

 private:
  const TemporaryIndex index_;
};

/// Returns how often the reads' k-mers stand in an assembly that was counted for them. `resources` are
/// settled. Throws Error.
backend::CopySpectrum make_copy_spectrum(const std::string& reads, const CountedAssembly& assembly,
                                         const host::Resources& resources, backend::JobProgress& progress);

}  // namespace warpmer::jobs
