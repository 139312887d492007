#pragma once
/// How often k-mers of reads stand in assemblies, as Merqury counts it (Rhie, Walenz, Koren, Phillippy 2020).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/indexes/index_set.h"
#include "backend/job_progress.h"
#include "index/index_file.h"

namespace warpmer::backend {

/// The k-mers of reads by their copies in an assembly: Merqury's spectra-cn.
struct CopySpectrum {
  /// The last class has all k-mers of more copies than the one before, which has those of 4; the first has
  /// those that the assembly lacks.
  static constexpr std::size_t kClasses = 6;
  static std::size_t class_of(std::uint64_t copies) {
    return static_cast<std::size_t>(std::min<std::uint64_t>(copies, kClasses - 1));
  }

  std::array<index::Histogram, kClasses> of_reads;  ///< distinct k-mers by their count in the reads
  std::array<std::uint64_t, kClasses>
      not_in_reads{};         ///< distinct k-mers of the assembly that the reads lack
  std::uint64_t kmers = 0;    ///< of the assembly, each as often as it occurs
  std::uint64_t missing = 0;  ///< those of them that the reads lack

  /// Returns how many distinct k-mers the assembly has of those that the reads have at least so often.
  [[nodiscard]] std::uint64_t found(std::uint64_t least_count) const {
    std::uint64_t sum = 0;
    for (std::size_t copies = 1; copies < kClasses; ++copies) {
      const index::Histogram& kmers_of = of_reads[copies];
      for (auto at = kmers_of.lower_bound(least_count); at != kmers_of.end(); ++at) sum += at->second;
    }
    return sum;
  }
};

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
