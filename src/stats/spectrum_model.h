#pragma once
/// A small model of a k-mer spectrum: where errors end and genomic k-mers begin, how deep the genome is
/// covered, how large it is. Definitions, references and limits in docs/spectrum.md.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "index/index_file.h"

namespace warpmer::stats {

/// A maximum of the smoothed spectrum that stands out of its noise.
struct SpectrumPeak {
  std::uint64_t count = 0;  ///< k-mers that occur so often are locally the most
  std::uint64_t kmers = 0;  ///< distinct k-mers of exactly this count
};

/// Estimates that follow from all numbers of a spectrum with a clear peak. Numbers that the index cannot tell
/// have no value.
struct GenomeEstimate {
  unsigned ploidy =
      1;  ///< number of haplotypes whose k-mers differ: 1 also for more of them that are all the same
  double kmer_coverage = 0;  ///< mean count of k-mers that all haplotypes have once
  double dispersion = 0;     ///< variance of a peak by its mean, minus 1; 0: Poisson
  double fit = 0;            ///< share of the k-mers around the peaks that the model explains, 0 to 1
  /// Mean count of k-mers of one haplotype; only with more than one.
  std::optional<double> heterozygous_coverage;
  /// Bases at which not all haplotypes are the same, per base; with `heterozygous_coverage`.
  std::optional<double> heterozygosity;
  std::optional<double> genome_size;  ///< haploid, in bases; none if large counts were not stored
  std::optional<double>
      repeat_fraction;  ///< fraction of `genome_size`, in k-mers that the haploid genome has more than once
  std::optional<double>
      error_kmers;  ///< occurrences; none, like the next two, if small counts were not stored
  std::optional<double> error_distinct;
  std::optional<double> error_rate;  ///< per base
};

/// The answer that the spectrum gives if the genome has another ploidy.
struct OtherPloidy {
  unsigned ploidy = 1;
  double kmer_coverage = 0;  ///< the same as in GenomeEstimate, like the next
  std::optional<double> genome_size;
  double worse_by = 0;       ///< difference of the Bayesian information criteria
  bool is_equal = false;     ///< explains the spectrum about as well
  bool is_possible = false;  ///< may be right, as any that is equal
};

/// A peak that is none of the genome's: of a contaminant, an organelle, a plasmid, or a spike.
struct ForeignGenome {
  double coverage = 0;
  double kmers = 0;  ///< distinct
};

/// A peak of the model's curve: the k-mers of so many copies.
struct ModelPeak {
  double mean = 0;  ///< mean count
  double dispersion = 0;
  double kmers = 0;        ///< distinct
  std::size_t copies = 0;  ///< of all haplotypes together; 0: of what is not the genome
};

struct SpectrumModel {
  /// K-mers of up to this count are mostly errors: the count at the bottom of the valley before the first
  /// peak. 0 if the spectrum rises from its first count on; none if there is no peak.
  std::optional<std::uint64_t> error_cutoff;
  std::vector<SpectrumPeak> peaks;         ///< in order of their counts
  std::optional<GenomeEstimate> estimate;  ///< none unless there is one clear main peak
  std::string reason;                      ///< why there is no estimate, in a few words; else empty
  std::optional<OtherPloidy> runner_up;    ///< the best of the other ploidies; none without an estimate
  std::vector<ForeignGenome> foreign;      ///< not counted into the genome
  /// Every count is a multiple of it: 2 if each file was counted twice. 1 as a rule.
  std::uint64_t count_divisor = 1;
  std::vector<ModelPeak> curve;  ///< what was fitted; none without an estimate

  /// Returns the smallest count of k-mers that are no errors, as a rule; none without an estimate.
  [[nodiscard]] std::optional<std::uint64_t> solid_count() const {
    if (!estimate) return std::nullopt;
    return *error_cutoff + 1;
  }
  /// Returns how many distinct k-mers of this count the curve has: those of no errors.
  [[nodiscard]] double expected(std::uint64_t count) const;
};

/// Models what was counted. Takes up to some seconds: hundreds of fits are tried, by several threads,
/// whose number makes no difference to the model.
SpectrumModel model_spectrum(const index::IndexParams& params, const index::Totals& totals,
                             const index::Histogram& histogram, unsigned threads);
/// Models what an index holds.
SpectrumModel model_spectrum(const index::IndexFile& index, unsigned threads);

}  // namespace warpmer::stats
