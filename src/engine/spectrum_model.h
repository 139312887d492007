#pragma once
/// A small model of a k-mer spectrum: where errors end and genomic k-mers begin, how deep the genome is
/// covered, how large it is. Definitions, references and limits in docs/spectrum.md.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "index/index_file.h"

namespace warpmer::engine {

/// A maximum of the smoothed spectrum that stands out of its noise.
struct SpectrumPeak {
  std::uint64_t count = 0;  ///< k-mers that occur so often are locally the most
  std::uint64_t kmers = 0;  ///< distinct k-mers of exactly this count
};

/// What follows from all numbers of a spectrum with a clear peak. What the index cannot tell has no value.
struct GenomeEstimate {
  double kmer_coverage =
      0;  ///< mean count of k-mers that the genome has once and, if diploid, on both haplotypes
  double dispersion = 0;  ///< variance of a peak by its mean, minus 1; 0: Poisson
  double fit =
      0;  ///< share of the k-mers between `error_cutoff` and 4.5 coverages that the model explains, 0 to 1
  /// Mean count of k-mers of one of two haplotypes; only where their peak is seen.
  std::optional<double> heterozygous_coverage;
  /// Differing bases between haplotypes, per base; with `heterozygous_coverage`.
  std::optional<double> heterozygosity;
  std::optional<double> genome_size;  ///< haploid, in bases; none if large counts were not stored
  std::optional<double>
      repeat_fraction;  ///< of `genome_size`, in k-mers the haploid genome has more than once
  std::optional<double>
      error_kmers;  ///< occurrences; none, like the next two, if small counts were not stored
  std::optional<double> error_distinct;
  std::optional<double> error_rate;  ///< per base
};

struct SpectrumModel {
  /// K-mers of up to this count are mostly errors: the count at the bottom of the valley before the first
  /// peak. 0 if the spectrum rises from its first count on; none if there is no peak.
  std::optional<std::uint64_t> error_cutoff;
  std::vector<SpectrumPeak> peaks;         ///< in order of their counts
  std::optional<GenomeEstimate> estimate;  ///< none unless there is one clear main peak
  std::string reason;                      ///< why there is no estimate, in a few words; else empty
};

/// Models what an index holds (its parameters, totals and histogram). Takes no more than some milliseconds.
SpectrumModel model_spectrum(const index::IndexParams& params, const index::Totals& totals,
                             const index::Histogram& histogram);

}  // namespace warpmer::engine
