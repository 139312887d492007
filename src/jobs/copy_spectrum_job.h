#pragma once
/// An assembly beside the reads that it was made of.

#include <string>
#include <vector>

#include "backend/indexes/copy_spectra.h"
#include "jobs/count_job.h"

namespace warpmer::jobs {

struct CopySpectrumOptions {
  std::string reads;                  ///< path of the reads' index, which is opened once more
  std::vector<std::string> assembly;  ///< files of sequences, which are counted together
  io::ReadingOptions reading;
  host::Resources resources;
  std::string tmp_directory;  ///< for the k-mers of the assembly; empty: as host/tmp_directory.h has it
  std::string output;         ///< of the command
};

/// Counts the assembly into a temporary index, and goes through both once. Throws Error.
backend::CopySpectrum make_copy_spectrum(const CopySpectrumOptions& options, backend::JobProgress& progress);

}  // namespace warpmer::jobs
