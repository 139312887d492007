#pragma once
/// Merqury's sums: the k-mers of assemblies side by side with those of reads and, maybe, hap-mers.

#include <string>
#include <vector>

#include "backend/indexes/copy_spectra.h"
#include "backend/job_progress.h"
#include "io/input_set.h"
#include "jobs/session_run.h"

namespace warpmer::jobs {

struct MerquryOptions {
  std::string reads;                    ///< an index, canonical
  std::vector<std::string> hapmers;     ///< none, or two indexes
  std::vector<std::string> assemblies;  ///< one or two files of sequences
  io::ReadingOptions reading;           ///< of the assemblies
  host::Resources resources;
  std::string tmp_directory;  ///< for the indexes of the assemblies
};

/// Counts each assembly into an index that is gone afterwards, and looks at all of them at once. UsageError
/// for indexes that cannot be compared. Throws Error.
backend::AssemblySpectra assembly_spectra(const MerquryOptions& options, backend::JobProgress& progress);

}  // namespace warpmer::jobs
