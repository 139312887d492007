#include "stats/unseen_kmers.h"

#include <algorithm>
#include <cmath>

#include "stats/linear_program.h"

namespace warpmer::stats {

namespace {

/// Counts in the sample that are told apart: all up to 8, then in steps that grow, and all above the last.
constexpr std::uint64_t kBinEnds[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 15, 22, 31, 45, 64};
constexpr std::size_t kBins = std::size(kBinEnds) + 1;
/// Counts in the whole: all up to 20, then a tenth more each.
constexpr double kLastSingleCount = 20;
constexpr double kCountStep = 1.1;
/// A bin may be off by so many standard errors, ...
constexpr double kBinStandardErrors = 3;
/// ... or, if no spectrum fits, by twice, four, ... times as much, up to so often.
constexpr int kMostDoublings = 24;

std::size_t bin_of(std::uint64_t count) {
  return static_cast<std::size_t>(std::lower_bound(std::begin(kBinEnds), std::end(kBinEnds), count) -
                                  std::begin(kBinEnds));
}

/// Returns the probability that, of `draws` that each succeed with probability `share`, `hits` do.
double binomial(double draws, double share, double hits) {
  if (hits > draws) return 0;
  return std::exp(std::lgamma(draws + 1) - std::lgamma(hits + 1) - std::lgamma(draws - hits + 1) +
                  hits * std::log(share) + (draws - hits) * std::log1p(-share));
}

/// The spectra of the whole that fit a sample. Unknowns are the k-mers of each count that the sample is
/// expected to show, as shares of all it shows: that keeps numbers near 1.
class FittingSpectra {
 public:
  explicit FittingSpectra(const SampledSpectrum& sample) : constraints_(kBins) {
    std::vector<double> observed(kBins);
    for (const auto& [count, kmers] : sample.histogram) observed[bin_of(count)] += static_cast<double>(kmers);
    for (const double kmers : observed) shown_ += kmers;
    const double most = 1.5 * static_cast<double>(kBinEnds[kBins - 2]) / sample.share;
    for (double count = 1; count <= most; count = next(count)) add_count(count, sample.share);
    for (std::size_t b = 0; b < kBins; ++b) {
      // One more, lest an empty bin be thought to be known without error.
      errors_.push_back(kBinStandardErrors * std::sqrt((observed[b] + 1) * std::max(1.0, sample.clump)) /
                        shown_);
      observed_.push_back(observed[b] / shown_);
    }
  }

  /// Returns the spectrum that has the most, or the fewest, k-mers of counts in [from, to].
  [[nodiscard]] CountClasses extreme(double from, double to, bool most) const {
    std::vector<double> objective;
    double largest = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      const bool is_meant = counts_[i] >= from && counts_[i] <= to;
      objective.push_back(is_meant ? (most ? 1 : -1) / seen_[i] : 0);
      largest = std::max(largest, std::abs(objective.back()));
    }
    for (double& weight : objective) weight /= std::max(largest, 1.0);
    CountClasses spectrum;
    double tolerance = 1;
    for (int i = 0; i < kMostDoublings; ++i, tolerance *= 2) {
      if (const auto x = maximise(objective, within(tolerance))) {
        for (std::size_t c = 0; c < counts_.size(); ++c) {
          if ((*x)[c] > 0) spectrum.push_back({counts_[c], (*x)[c] * shown_ / seen_[c]});
        }
        break;
      }
    }
    return spectrum;
  }

 private:
  static double next(double count) {
    return count < kLastSingleCount ? count + 1 : std::ceil(count * kCountStep);
  }

  void add_count(double count, double share) {
    const double seen = -std::expm1(count * std::log1p(-share));
    counts_.push_back(count);
    seen_.push_back(seen);
    double rest = seen;
    std::uint64_t hits = 1;
    for (std::size_t b = 0; b < kBins; ++b) {
      double expected = 0;
      if (b + 1 == kBins) {
        expected = std::max(0.0, rest);
      } else {
        for (; hits <= kBinEnds[b]; ++hits) expected += binomial(count, share, static_cast<double>(hits));
        rest -= expected;
      }
      constraints_[b].coefficients.push_back(expected / seen);
    }
  }

  [[nodiscard]] std::vector<LinearConstraint> within(double tolerance) const {
    std::vector<LinearConstraint> constraints = constraints_;
    for (std::size_t b = 0; b < kBins; ++b) {
      constraints[b].low = observed_[b] - tolerance * errors_[b];
      constraints[b].high = observed_[b] + tolerance * errors_[b];
    }
    return constraints;
  }

  double shown_ = 0;
  std::vector<double> counts_, seen_;  ///< in the whole; how likely the sample has such a k-mer
  std::vector<double> observed_, errors_;
  std::vector<LinearConstraint> constraints_;  ///< constraints by bin, without limits
};

double kmers_between(const CountClasses& spectrum, double from, double to) {
  double kmers = 0;
  for (const CountClass& some : spectrum) kmers += some.count >= from && some.count <= to ? some.kmers : 0;
  return kmers;
}

double seen_at_least(const index::Histogram& histogram, std::uint64_t count) {
  double kmers = 0;
  for (auto at = histogram.lower_bound(count); at != histogram.end(); ++at)
    kmers += static_cast<double>(at->second);
  return kmers;
}

Range range_of(double low, double high) { return {low, std::sqrt((low + 1) * (high + 1)) - 1, high}; }

KmerBounds as_it_is(const index::Histogram& histogram, double from, double to) {
  CountClasses spectrum;
  for (const auto& [count, kmers] : histogram)
    spectrum.push_back({static_cast<double>(count), static_cast<double>(kmers)});
  const double kmers = kmers_between(spectrum, from, to);
  return {{kmers, kmers, kmers}, spectrum, spectrum};
}

}  // namespace

KmerBounds extrapolate(const SampledSpectrum& sample, std::uint64_t min_count, std::uint64_t max_count) {
  const auto from = static_cast<double>(min_count);
  const auto to = max_count == UINT64_MAX ? HUGE_VAL : static_cast<double>(max_count);
  if (sample.share >= 1 || sample.histogram.empty()) return as_it_is(sample.histogram, from, to);
  const FittingSpectra spectra(sample);
  KmerBounds bounds{{}, spectra.extreme(from, to, false), spectra.extreme(from, to, true)};
  double low = kmers_between(bounds.fewest, from, to);
  if (max_count == UINT64_MAX) low = std::max(low, seen_at_least(sample.histogram, min_count));
  bounds.kmers = range_of(low, std::max(low, kmers_between(bounds.most, from, to)));
  return bounds;
}

double thinned_distinct(const index::Histogram& histogram, double share) {
  double distinct = 0;
  for (const auto& [count, kmers] : histogram) {
    distinct += static_cast<double>(kmers) *
                (share >= 1 ? 1 : -std::expm1(static_cast<double>(count) * std::log1p(-share)));
  }
  return distinct;
}

}  // namespace warpmer::stats
