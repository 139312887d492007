#pragma once
/// Assemblies whose k-mers stand beside those of reads, and Merqury's sums of them.

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
