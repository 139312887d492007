#pragma once
/// A spectrum as a sum of negative binomial peaks at c, 2c, 3c, ..., for a genome of a given ploidy, fitted
/// by maximum likelihood. The model is described in docs/spectrum.md.

#include <optional>
#include <vector>

#include "stats/peak_curves.h"

namespace warpmer::stats {

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

/// Returns, for each ploidy from 1 on, where to begin: the best few of a grid of units in [low, high], which
/// several threads try.
std::vector<std::vector<MixtureStart>> find_starts(const SpectrumBins& bins, double low, double high,
                                                   const std::optional<ForeignPeak>& foreign,
                                                   unsigned threads);

}  // namespace warpmer::stats
