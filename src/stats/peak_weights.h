#pragma once
/// How many k-mers each curve of a spectrum has: weights within bounds, by maximum likelihood.

#include <cstddef>
#include <optional>
#include <vector>

#include "stats/peak_curves.h"

namespace warpmer::stats {

/// K-mers of `copies`, more than `ploidy`, are repeats. There are at most so many, by the places of the
/// haploid genome.
double most_repeats(unsigned ploidy, std::size_t copies);

/// Sums over all bins of products of two curves, and of a curve and the data, by the variances of the data.
struct Products {
  std::size_t n = 0;
  std::vector<double> of_curves, with_data;

  Products(const SpectrumBins& bins, const Curves& curves, const std::vector<double>& variances);
  /// Replaces the curve of `i` by `own` times it and `other` times that of `j`.
  void mix(std::size_t i, double own, std::size_t j, double other);
};

/// Fits the weights of parts, for a fixed place and shape of all peaks. The first `ploidy` parts are places
/// of the haploid genome: of which i haplotypes have the k-mer (the last: all). Since some places must be
/// homozygous, the others bring some with them; so no weight needs more than not to be negative. The other
/// parts are curves: repeats, which are limited by the places, errors, and the foreign peak.
class WeightFit {
 public:
  WeightFit(const SpectrumBins& bins, const Curves& curves, unsigned ploidy,
            const std::optional<ForeignPeak>& foreign, double unit);

  /// Fits by least squares, by variances taken from the data at first (`products`) and from the model in
  /// further rounds, which makes it maximum likelihood (Fisher scoring).
  void run(const Products& products, int rounds, int most_sweeps);

  /// Returns the k-mers of each curve.
  [[nodiscard]] const std::vector<double>& kmers() const { return kmers_; }
  /// Returns Poisson's, less that of a model that has every bin as it is: 0 or less.
  [[nodiscard]] double log_likelihood() const;
  /// Returns chi-square by degrees of freedom.
  [[nodiscard]] double chi_square() const;
  /// Returns the k-mers of each bin, less what is modelled.
  [[nodiscard]] std::vector<double> excess() const;
  /// Returns the share of the k-mers that is where the model has it.
  [[nodiscard]] double explained() const;

 private:
  [[nodiscard]] double brought() const;
  [[nodiscard]] double own_share(unsigned i) const;
  [[nodiscard]] double places() const;
  [[nodiscard]] double most(std::size_t part, double places) const;
  void descend(Products products, int most_sweeps);
  void make_model();

  const SpectrumBins& bins_;
  const Curves& curves_;
  const unsigned ploidy_;
  const bool has_foreign_;
  std::vector<double> most_repeats_;  ///< most repeats of the parts behind the places, by all of these
  std::vector<double> weights_, kmers_, model_;
};

}  // namespace warpmer::stats
