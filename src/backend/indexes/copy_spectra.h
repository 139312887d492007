#pragma once
/// How often k-mers of reads stand in assemblies, as Merqury counts it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/indexes/copy_session.h"
#include "backend/indexes/index_set.h"
#include "backend/job_progress.h"
#include "index/index_file.h"

namespace warpmer::backend {

/// The sources are the reads and, if they are given, hap-mers. The columns are the assemblies and, if there
/// are two, both together.
struct AssemblySpectra {
  /// Spectra of each source in each column. What the reads lack is told in those of the reads alone.
  std::vector<std::vector<CopySpectrum>> spectra;
  /// The reads' k-mers by who has them: no assembly, the first alone, the second alone, both.
  std::array<index::Histogram, 4> by_owner;
  /// Distinct k-mers that reads do not have, likewise.
  std::array<std::uint64_t, 4> missing_by_owner{};
};

/// Looks at all k-mers of the reads' index, those of hap-mers, and one or two of assemblies, in this order.
/// All have the same parameters. ResourceError for memory that leaves nothing to work in; InputError for an
/// index that is damaged.
AssemblySpectra find_assembly_spectra(const std::vector<index::IndexFile>& inputs, std::size_t assemblies,
                                      const WorkingMemory& memory, JobProgress& progress);

}  // namespace warpmer::backend
