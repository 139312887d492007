#pragma once
/// A spectrum in bins, and what each peak of a genome puts into these: negative binomial distributions.

#include <cstddef>
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

/// A peak that is no multiple of the coverage: another genome's.
struct ForeignPeak {
  double mean = 0;
  double dispersion = 0;
  double kmers = 0;  ///< distinct
};

/// Part of a spectrum, in bins: each count of small ones, and for deep peaks not every count.
struct SpectrumBins {
  /// Makes the bins of the counts in [first, last). `has_errors`: there, some k-mers are errors.
  SpectrumBins(const SmoothSpectrum& spectrum, std::uint64_t first, std::uint64_t last, bool has_errors);
  std::uint64_t first, last;
  std::vector<double> centres, widths, kmers;
  std::size_t summed = 0;  ///< so many bins, the first ones, are sums of what is at each count
  /// Others are what is at the centre less and plus this, which are as far apart as the bin's counts are.
  std::vector<double> offsets, log_factorials, log_factorials_below;
  std::vector<double> spread;        ///< spread of `kmers`, about: that of neighbours, and not 0
  double all = 0;                    ///< sum of `kmers`
  std::vector<double> error_curves;  ///< of errors, one behind the other; none where none are expected
};

/// Curves say how much one k-mer puts into each bin: one curve for k-mers of so many copies, for errors and
/// for a foreign peak.
struct Curves {
  std::size_t bins = 0;
  std::vector<std::size_t> first, last;  ///< each is 0 but for the bins in [first, last)
  std::vector<std::size_t> copies;       ///< numbers of copies of the first curves; rises
  [[nodiscard]] std::size_t number() const { return first.size(); }
  /// Returns what curve i is in `bin` and, behind that, in the bins up to its last.
  [[nodiscard]] const double* from(std::size_t i, std::size_t bin) const {
    return values_.data() + (begin_[i] + bin - first[i]);
  }
  /// Adds a curve of the bins in [first, last), and returns its values, all 0, until the next one is added.
  double* add(std::size_t first_bin, std::size_t last_bin);

 private:
  std::vector<double> values_;  ///< one curve after the other, each without the bins in which it is 0
  std::vector<std::size_t> begin_;
};

/// Returns the curves of peaks of all numbers of copies up to the end, of which the first has the mean
/// `unit`; then two of errors, if some are expected; then that of the foreign peak, if there is one.
Curves make_curves(const SpectrumBins& bins, double unit, double dispersion,
                   const std::optional<ForeignPeak>& foreign);

}  // namespace warpmer::stats
