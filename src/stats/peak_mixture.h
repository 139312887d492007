#pragma once
/// A spectrum as a sum of negative binomial peaks at c, 2c, 3c, ..., for a genome of a given ploidy, fitted
/// by maximum likelihood. The model is described in docs/spectrum.md.

#include <cstdint>
#include <optional>
#include <vector>

#include "stats/smooth_spectrum.h"

namespace warpmer::stats {

constexpr unsigned kMostPloidy = 6;

/// Returns the number of k-mers of `count`, of those whose counts have this mean: a negative binomial
/// distribution of variance mean * (1 + dispersion), as in Vurture et al. 2017 (GenomeScope). `count` need
/// not be whole.
double peak_density(double count, double mean, double dispersion);

/// K-mers of `copies`, more than `ploidy`, are repeats. There are at most so many, by the places of the
/// haploid genome.
double most_repeats(unsigned ploidy, std::size_t copies);

/// A peak that is no multiple of the coverage: another genome's.
struct ForeignPeak {
  double mean = 0;
  double dispersion = 0;
  double kmers = 0;  ///< distinct
};

/// Part of a spectrum, in bins: each count of small ones, and for deep peaks not every count.
struct SpectrumBins {
  /// Makes the bins of the counts in [first, last). `has_errors`: of some of them, errors are expected.
  SpectrumBins(const SmoothSpectrum& spectrum, std::uint64_t first, std::uint64_t last, bool has_errors);
  std::uint64_t first, last;
  bool has_errors;
  std::vector<double> centres, widths, kmers;
  /// A bin is what is at its centre less and plus this, which are as far apart as its counts are.
  std::vector<double> offsets, log_factorials, log_factorials_below;
  std::vector<double> spread;  ///< spread of `kmers`, about: that of neighbours, and not 0
  double all = 0;              ///< sum of `kmers`
};

/// The start of a fit: with a foreign peak, its mean and dispersion are where the search begins.
struct MixtureStart {
  unsigned ploidy = 1;
  double unit = 0;
  double dispersion = 0;
  std::optional<ForeignPeak> foreign;
};

/// A fit. "Copies" are of all haplotypes together: k-mers of i copies have counts of mean i * unit.
struct PeakMixture {
  unsigned ploidy = 1;
  /// The genome has one haplotype: k-mers of fewer than `ploidy` copies are places of less coverage.
  bool is_thin = false;
  unsigned thin_copies = 0;  ///< then: k-mers of up to so many copies are such places
  double main_copies = 0;    ///< and those of the others have so many on average
  double unit = 0;           ///< mean count of a k-mer of one copy
  double dispersion = 0;
  std::vector<double> kmers;        ///< distinct, kmers[i] of copies[i]
  std::vector<std::size_t> copies;  ///< rises: 1, 2, 3, ..., and further up not each
  std::optional<ForeignPeak> foreign;
  double log_likelihood = 0;   ///< Poisson, less that of a model that has every bin as it is: 0 or less
  double chi_square = 0;       ///< chi-square by degrees of freedom
  double explained = 0;        ///< share of the k-mers that is where the model has it
  std::vector<double> excess;  ///< k-mers of each bin, less what is modelled
  double implausibility = 0;   ///< logarithm of what makes such numbers of copies rare in genomes: 0 or more

  /// Returns the number of k-mers of a count, as modelled, without errors and without the foreign peak.
  [[nodiscard]] double at(double count) const;
  /// Returns the number of places of the haploid genome that are not repeated.
  [[nodiscard]] double places() const;
  /// Returns how many more places there would be by the counts, if all were covered as well.
  [[nodiscard]] double lacking() const;
  /// Returns the share of these at which all haplotypes have the same k-mer.
  [[nodiscard]] double homozygous() const;
  [[nodiscard]] unsigned haplotypes() const { return is_thin ? 1 : ploidy; }
  /// Returns the mean count of k-mers that all haplotypes have once.
  [[nodiscard]] double coverage() const { return unit * (is_thin ? main_copies : ploidy); }
  /// Parameters that the data must speak for.
  [[nodiscard]] unsigned parameters() const { return ploidy + 2 + (foreign ? 3 : 0); }
};

/// True when haplotypes or repeats can make the foreign peak, which the fit has.
bool is_of_genome(const PeakMixture& fit);

/// Returns the same fit, read as that of one haplotype with places of less coverage.
PeakMixture thin_reading(const PeakMixture& fit);

/// Returns the count around which there are most k-mers that the fit does not have, if chance does not make
/// as many.
std::optional<double> most_excess(const SpectrumBins& bins, const PeakMixture& fit);

/// Makes the fit with the unit, the dispersion and the foreign peak as they are.
PeakMixture weigh_mixture(const SpectrumBins& bins, const MixtureStart& start);

/// Looks for the best fit of a ploidy near `start`.
PeakMixture refine_mixture(const SpectrumBins& bins, const MixtureStart& start);

/// Returns, for each ploidy, where to begin: the best few of a grid of units in [low, high].
std::vector<MixtureStart> find_starts(const SpectrumBins& bins, double low, double high,
                                      const std::optional<ForeignPeak>& foreign);

}  // namespace warpmer::stats
