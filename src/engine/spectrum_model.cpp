#include "engine/spectrum_model.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace warpmer::engine {

namespace {

/// Peaks are looked for among counts up to this one.
constexpr std::uint64_t kLargestCount = std::uint64_t{1} << 20;
/// The model: copy numbers 1 to 4, counted in the smallest that is seen.
constexpr std::size_t kCopies = 4;
using Weights = std::array<double, kCopies>;

/// A rise or fall is one if it is so many standard errors, and so much of the larger value.
constexpr double kTrendStandardErrors = 5;
constexpr double kLeastStep = 0.1;
/// Peaks of one and two copies are at 1 : 2, give or take so much.
constexpr double kHalfTolerance = 0.08;
/// Of k-mers on one and on two haplotypes: with fewer on two, two copies are repeats of a haploid genome.
constexpr double kLeastHomozygous = 0.25;
/// Below these there is no estimate.
constexpr double kLeastCoverage = 3;
constexpr double kLeastGenomicShare = 0.2;
constexpr double kLeastFit = 0.5;
/// A valley less deep, by the main peak, is that of RNA, of a metagenome, of a coverage too low.
constexpr double kShallowValley = 0.5;
/// Above this share of all possible k-mers, different places of the genome share theirs by chance.
constexpr double kMostOfPossible = 0.2;

/// Distinct k-mers by count, from `first` on, and their means over neighbours: about a third of the standard
/// deviation of a Poisson peak to each side.
class SmoothSpectrum {
 public:
  SmoothSpectrum(const index::Totals& totals, const index::Histogram& histogram) : first_(totals.min_count) {
    // Counts larger than any are as good as others: 0 k-mers have them, unless they were not stored.
    const std::uint64_t largest = histogram.empty() ? 0 : histogram.rbegin()->first;
    end_ = std::min({kLargestCount, totals.max_count, largest + largest / 4 + 8}) + 1;
    end_ = std::max(end_, first_);
    sums_.assign(end_ - first_ + 1, 0);
    for (const auto& [count, kmers] : histogram) {
      if (count >= first_ && count < end_) sums_[count - first_ + 1] = static_cast<double>(kmers);
    }
    for (std::size_t i = 1; i < sums_.size(); ++i) sums_[i] += sums_[i - 1];
  }

  [[nodiscard]] std::uint64_t first() const { return first_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  /// Distinct k-mers of counts in [from, to).
  [[nodiscard]] double sum(std::uint64_t from, std::uint64_t to) const {
    const std::uint64_t a = std::clamp(from, first_, end_), b = std::clamp(to, first_, end_);
    return a < b ? sums_[b - first_] - sums_[a - first_] : 0;
  }
  [[nodiscard]] double at(std::uint64_t count) const { return sum(count, count + 1); }
  [[nodiscard]] double smooth(std::uint64_t count) const {
    return sum(from(count), to(count)) / width(count);
  }

  /// Whether `high`, a count, has significantly more k-mers than `low`.
  [[nodiscard]] bool is_step(std::uint64_t low, std::uint64_t high) const {
    const double a = smooth(low), b = smooth(high);
    const double error = std::sqrt(a / width(low) + b / width(high));
    return b - a > kTrendStandardErrors * error && b - a > kLeastStep * b;
  }

 private:
  static std::uint64_t reach(std::uint64_t count) {
    return static_cast<std::uint64_t>(std::sqrt(static_cast<double>(count)) / 3);
  }
  [[nodiscard]] std::uint64_t from(std::uint64_t count) const {
    return std::max(first_, count - reach(count));
  }
  [[nodiscard]] std::uint64_t to(std::uint64_t count) const {
    return std::min(end_, count + reach(count) + 1);
  }
  [[nodiscard]] double width(std::uint64_t count) const {
    return static_cast<double>(to(count) - from(count));
  }

  std::uint64_t first_, end_ = 0;
  std::vector<double> sums_;  ///< sums_[i]: of the first i counts
};

struct Turns {
  std::uint64_t valley = 0;  ///< before the first peak
  std::vector<std::uint64_t> peaks;
};

/// Goes down to a minimum until the spectrum has risen from it, up to a maximum until it has fallen, and so
/// on.
Turns find_turns(const SmoothSpectrum& spectrum) {
  Turns turns;
  std::uint64_t lowest = spectrum.first(), highest = 0;
  bool rising = false;
  for (std::uint64_t count = spectrum.first(); count < spectrum.end(); ++count) {
    const double value = spectrum.smooth(count);
    if (rising) {
      if (value > spectrum.smooth(highest)) highest = count;
      if (spectrum.is_step(count, highest)) {
        turns.peaks.push_back(highest);
        rising = false;
        lowest = count;
      }
    } else {
      if (value < spectrum.smooth(lowest)) lowest = count;
      if (spectrum.is_step(lowest, count)) {
        if (turns.peaks.empty()) turns.valley = lowest;
        rising = true;
        highest = count;
      }
    }
  }
  return turns;
}

/// About the k-mers below a peak: its height times its width.
double area(const SmoothSpectrum& spectrum, std::uint64_t peak) {
  return spectrum.smooth(peak) * std::sqrt(static_cast<double>(peak));
}

/// Number of k-mers of `count`, of those whose counts have this mean: a negative binomial distribution of
/// variance mean * (1 + dispersion), as in Vurture et al. 2017 (GenomeScope). `count` need not be whole.
double density(double count, double mean, double dispersion) {
  const double size = mean / dispersion;
  return std::exp(std::lgamma(count + size) - std::lgamma(size) - std::lgamma(count + 1) -
                  size * std::log1p(dispersion) + count * std::log(dispersion / (1 + dispersion)));
}

/// Fits sum over i of weight_i * density(count, i * coverage, dispersion) to the counts from `first` on, up
/// to 4.5 coverages, by least squares: the weights, none negative, follow from the other two (variable
/// projection).
class MixtureFit {
 public:
  MixtureFit(const SmoothSpectrum& spectrum, std::uint64_t first, double coverage)
      : first_(first), coverage_(coverage) {
    const auto last = std::min(spectrum.end(), static_cast<std::uint64_t>(coverage * (kCopies + 0.5)) + 1);
    // Deep spectra in steps: what a peak looks like does not need each count.
    const std::uint64_t step = std::max<std::uint64_t>(1, (last - first) / kMostBins);
    for (std::uint64_t count = first; count + step <= last; count += step) {
      centres_.push_back(static_cast<double>(count) + static_cast<double>(step - 1) / 2);
      kmers_.push_back(spectrum.sum(count, count + step) / static_cast<double>(step));
    }
    curves_.resize(kCopies * centres_.size());
    // Coverage and dispersion hardly depend on each other.
    for (int round = 0; round < kRounds; ++round) {
      const double reach = round == 0 ? 0.25 : 0.05;
      coverage_ = least(coverage_ * (1 - reach), coverage_ * (1 + reach),
                        [&](double value) { return squares(value, dispersion_); });
      dispersion_ = std::exp(least(std::log(kLeastDispersion), std::log(kMostDispersion),
                                   [&](double value) { return squares(coverage_, std::exp(value)); }));
    }
    squares(coverage_, dispersion_);
  }

  [[nodiscard]] double coverage() const { return coverage_; }
  [[nodiscard]] double dispersion() const { return dispersion_; }
  [[nodiscard]] const Weights& weights() const { return weights_; }
  /// K-mers of a count, as modelled.
  [[nodiscard]] double at(double count) const {
    double kmers = 0;
    for (std::size_t i = 0; i < kCopies; ++i)
      kmers += weights_[i] * density(count, static_cast<double>(i + 1) * coverage_, dispersion_);
    return kmers;
  }
  /// Share of the k-mers that is where the model has it.
  [[nodiscard]] double explained() const {
    double all = 0, off = 0;
    for (std::size_t b = 0; b < centres_.size(); ++b) {
      all += kmers_[b];
      off += std::abs(kmers_[b] - modelled(b));
    }
    return all > 0 ? std::max(0.0, 1 - off / all) : 0;
  }

 private:
  static constexpr std::uint64_t kMostBins = 400;
  static constexpr int kRounds = 4;
  static constexpr double kLeastDispersion = 1e-3, kMostDispersion = 50;

  /// Where `value`, with one minimum in [low, high], has it: by golden sections.
  template <class Value>
  static double least(double low, double high, Value&& value) {
    constexpr double kSection = 0.6180339887498949;
    double a = high - kSection * (high - low), b = low + kSection * (high - low);
    double at_a = value(a), at_b = value(b);
    for (int i = 0; i < 24; ++i) {
      if (at_a < at_b) {
        high = b, b = a, at_b = at_a;
        at_a = value(a = high - kSection * (high - low));
      } else {
        low = a, a = b, at_a = at_b;
        at_b = value(b = low + kSection * (high - low));
      }
    }
    return (low + high) / 2;
  }

  [[nodiscard]] double modelled(std::size_t bin) const {
    double kmers = 0;
    for (std::size_t i = 0; i < kCopies; ++i) kmers += weights_[i] * curves_[i * centres_.size() + bin];
    return kmers;
  }

  /// The sum of squares with the best weights, which it sets.
  double squares(double coverage, double dispersion) {
    for (std::size_t i = 0; i < kCopies; ++i) {
      for (std::size_t b = 0; b < centres_.size(); ++b) {
        curves_[i * centres_.size() + b] =
            density(centres_[b], static_cast<double>(i + 1) * coverage, dispersion);
      }
    }
    find_weights();
    double sum = 0;
    for (std::size_t b = 0; b < centres_.size(); ++b) sum += std::pow(kmers_[b] - modelled(b), 2);
    return sum;
  }

  /// Non-negative least squares, one weight after the other until none moves: convex, so that it converges.
  void find_weights() {
    std::array<Weights, kCopies> products{};
    Weights wanted{};
    for (std::size_t i = 0; i < kCopies; ++i) {
      const double* const curve = curves_.data() + i * centres_.size();
      for (std::size_t b = 0; b < centres_.size(); ++b) {
        wanted[i] += curve[b] * kmers_[b];
        for (std::size_t j = 0; j < kCopies; ++j)
          products[i][j] += curve[b] * curves_[j * centres_.size() + b];
      }
    }
    weights_ = {};
    for (int round = 0; round < 100; ++round) {
      for (std::size_t i = 0; i < kCopies; ++i) {
        double rest = wanted[i];
        for (std::size_t j = 0; j < kCopies; ++j) rest -= j == i ? 0 : products[i][j] * weights_[j];
        weights_[i] = products[i][i] > 0 ? std::max(0.0, rest / products[i][i]) : 0;
      }
    }
  }

  std::uint64_t first_;
  double coverage_;
  double dispersion_ = 0.1;
  Weights weights_{};
  std::vector<double> centres_;  ///< of bins
  std::vector<double> kmers_;    ///< for each count in a bin
  std::vector<double> curves_;   ///< of each number of copies at each centre
};

/// What the k-mers up to the cut-off are: errors, but for those that the model expects there.
void estimate_errors(const SmoothSpectrum& spectrum, const MixtureFit& fit, std::uint64_t cutoff,
                     std::uint32_t k, std::uint64_t all_kmers, GenomeEstimate& estimate) {
  double distinct = 0, kmers = 0;
  for (std::uint64_t count = spectrum.first(); count <= cutoff; ++count) {
    const auto occurrences = static_cast<double>(count);
    const double errors = std::max(0.0, spectrum.at(count) - fit.at(occurrences));
    distinct += errors;
    kmers += errors * occurrences;
  }
  estimate.error_distinct = distinct;
  estimate.error_kmers = kmers;
  estimate.error_rate = 1 - std::pow(1 - kmers / static_cast<double>(all_kmers), 1.0 / k);
}

/// One peak in 1 : 2 with another that is `peak`: the lower one.
std::optional<std::uint64_t> peak_at_half_of(const std::vector<std::uint64_t>& peaks, std::uint64_t peak) {
  for (const std::uint64_t other : peaks) {
    const double ratio = static_cast<double>(other) / static_cast<double>(peak);
    if (std::abs(ratio - 0.5) <= kHalfTolerance) return other;
  }
  return std::nullopt;
}

bool has_peak_at_double_of(const std::vector<std::uint64_t>& peaks, std::uint64_t peak) {
  return std::any_of(peaks.begin(), peaks.end(), [&](std::uint64_t other) {
    const double ratio = static_cast<double>(peak) / static_cast<double>(other);
    return std::abs(ratio - 0.5) <= kHalfTolerance;
  });
}

class Modeller {
 public:
  Modeller(const index::IndexParams& params, const index::Totals& totals, const index::Histogram& histogram)
      : params_(params), totals_(totals), spectrum_(totals, histogram) {}

  SpectrumModel run() {
    const Turns turns = find_turns(spectrum_);
    for (const std::uint64_t peak : turns.peaks)
      model_.peaks.push_back({peak, static_cast<std::uint64_t>(spectrum_.at(peak))});
    if (turns.peaks.empty()) {
      model_.reason = "no peak behind the k-mers of small counts";
      return model_;
    }
    const bool begins_with_peak = turns.valley == spectrum_.first();
    model_.error_cutoff = begins_with_peak ? 0 : turns.valley;
    if (!is_plausible()) return model_;
    const std::uint64_t main = *std::max_element(turns.peaks.begin(), turns.peaks.end(), [&](auto a, auto b) {
      return area(spectrum_, a) < area(spectrum_, b);
    });
    if (spectrum_.smooth(turns.valley) > kShallowValley * spectrum_.smooth(main)) {
      model_.reason = "the valley before the main peak is not deep";
    } else {
      estimate(turns.peaks, main);
    }
    return model_;
  }

 private:
  [[nodiscard]] std::uint64_t first_genomic() const {
    return std::max(spectrum_.first(), *model_.error_cutoff + 1);
  }

  /// Whether the k-mers above the cut-off can be a genome's.
  bool is_plausible() {
    double kmers = 0;
    for (std::uint64_t count = spectrum_.first(); count < first_genomic(); ++count)
      kmers += spectrum_.at(count) * static_cast<double>(count);
    const auto all = static_cast<double>(totals_.stored_kmers);
    if (all - kmers < kLeastGenomicShare * all) {
      model_.reason = "nearly all k-mers have small counts";
      return false;
    }
    const double possible = std::exp2(2.0 * params_.k - (params_.canonical ? 1 : 0));
    if (spectrum_.sum(first_genomic(), spectrum_.end()) > kMostOfPossible * possible) {
      model_.reason = "k is so small that different places have the same k-mers";
      return false;
    }
    return true;
  }

  void estimate(const std::vector<std::uint64_t>& peaks, std::uint64_t main) {
    const std::optional<std::uint64_t> half = peak_at_half_of(peaks, main);
    const MixtureFit fit(spectrum_, first_genomic(), static_cast<double>(half.value_or(main)));
    const Weights& weights = fit.weights();
    if (fit.coverage() < kLeastCoverage || fit.explained() < kLeastFit) {
      model_.reason = fit.coverage() < kLeastCoverage ? "the coverage is too low"
                                                      : "the main peak has not the shape of a coverage";
      return;
    }
    const bool is_diploid = half.has_value() || (has_peak_at_double_of(peaks, main) &&
                                                 weights[1] >= kLeastHomozygous * weights[0]);
    GenomeEstimate& estimate = model_.estimate.emplace();
    estimate.kmer_coverage = is_diploid ? 2 * fit.coverage() : fit.coverage();
    estimate.dispersion = fit.dispersion();
    estimate.fit = fit.explained();
    if (is_diploid) {
      estimate.heterozygous_coverage = fit.coverage();
      const double shared = weights[1] / (weights[1] + weights[0] / 2);
      estimate.heterozygosity = 1 - std::pow(shared, 1.0 / params_.k);
    }
    estimate_errors(spectrum_, fit, *model_.error_cutoff, params_.k, totals_.stored_kmers, estimate);
    estimate_size(is_diploid ? weights[1] + weights[0] / 2 : weights[0], estimate);
    if (totals_.min_count > 1)
      estimate.error_kmers = estimate.error_distinct = estimate.error_rate = std::nullopt;
  }

  /// `single`: k-mers that the haploid genome has once.
  void estimate_size(double single, GenomeEstimate& estimate) const {
    if (totals_.max_count != UINT64_MAX) return;
    const double kmers = static_cast<double>(totals_.stored_kmers) - *estimate.error_kmers;
    estimate.genome_size = kmers / estimate.kmer_coverage;
    estimate.repeat_fraction = std::clamp(1 - single / *estimate.genome_size, 0.0, 1.0);
  }

  const index::IndexParams& params_;
  const index::Totals& totals_;
  SmoothSpectrum spectrum_;
  SpectrumModel model_;
};

}  // namespace

SpectrumModel model_spectrum(const index::IndexParams& params, const index::Totals& totals,
                             const index::Histogram& histogram) {
  return Modeller(params, totals, histogram).run();
}

}  // namespace warpmer::engine
