#include "stats/spectrum_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/thread_team.h"
#include "stats/error_peaks.h"
#include "stats/peak_mixture.h"
#include "stats/peak_weights.h"
#include "stats/smooth_spectrum.h"

namespace warpmer::stats {

namespace {

/// Below these there is no estimate.
constexpr double kLeastCoverage = 3;
constexpr double kLeastGenomicShare = 0.2;
constexpr double kLeastFit = 0.5;
/// A valley less deep, by the first peak, is that of RNA, of a metagenome, of a coverage too low.
constexpr double kShallowValley = 0.5;
/// A narrow peak makes its own valley shallow, if it is at a small count; then it is fitted this well.
constexpr double kNarrow = 1.5, kGoodFit = 0.9;
/// Above this share of all possible k-mers, different places of the genome share theirs by chance.
constexpr double kMostOfPossible = 0.2;
/// Models of which the logarithms of the likelihoods differ by less explain the same.
constexpr double kEqual = 5;
/// Coverages that differ by less are the same.
constexpr double kSameCoverage = 0.04;
/// A foreign peak is looked for if the fit is off by more than chance makes it.
constexpr double kBadChiSquare = 1.6;
constexpr std::size_t kMostForeignTried = 3;
/// Fits that are off by more than chance are alike if they explain about as many k-mers.
constexpr double kAlike = 0.007;
/// A foreign peak where one of the genome's would be is no proof, if without it no more is left unexplained.
constexpr double kMostLost = 0.1;
constexpr double kNearPeak = 0.12;
constexpr double kUsualDispersion = 0.3;
/// Fewer k-mers, by the places of the genome, must have a peak of their own, or else count for this worse.
constexpr double kFew = 0.12;
constexpr double kGuess = 200;
/// So many places, at most, are covered less than the others.
constexpr double kMostThin = 0.3;
/// Peaks that are fewer standard deviations apart are one to the eye.
constexpr double kApart = 1.8;
/// A peak on the flank of another is, at its top, so many times as high as two standard deviations beside it
/// (the model's: 7 times), and higher than chance makes it by so many standard deviations.
constexpr double kShoulder = 3, kSignificant = 8;
/// K-mers that only one haplotype has are at least so many of the heterozygous ones.
constexpr double kLeastSingle = 0.02;
/// The fit ends where no more than this share of the k-mers is left.
constexpr double kFewKmers = 0.003;

/// Estimates what the k-mers up to the cut-off are: errors, but for those that the model expects there.
void estimate_errors(const SmoothSpectrum& spectrum, const PeakMixture& fit, std::uint64_t cutoff,
                     std::uint32_t k, double all_kmers, GenomeEstimate& estimate) {
  double distinct = 0, kmers = 0;
  for (std::uint64_t count = spectrum.first(); count <= cutoff; ++count) {
    const auto occurrences = static_cast<double>(count);
    double expected = fit.at(occurrences);
    if (fit.foreign) {
      const ForeignPeak& foreign = *fit.foreign;
      expected += foreign.kmers * peak_density(occurrences, foreign.mean, foreign.dispersion);
    }
    const double errors = std::max(0.0, spectrum.at(count) - expected);
    distinct += errors;
    kmers += errors * occurrences;
  }
  estimate.error_distinct = distinct;
  estimate.error_kmers = kmers;
  estimate.error_rate = 1 - std::pow(1 - kmers / all_kmers, 1.0 / k);
}

bool is_same_coverage(const PeakMixture& a, const PeakMixture& b) {
  return std::abs(std::log(a.coverage() / b.coverage())) < kSameCoverage;
}

/// The fits of all ploidies, and which to believe.
class Ploidies {
 public:
  /// `peaks`: those that can be seen, of which `main` is the largest.
  Ploidies(const SpectrumBins& bins, const std::vector<std::uint64_t>& peaks, std::uint64_t main,
           unsigned threads)
      : bins_(bins), peaks_(peaks), main_(static_cast<double>(main)), threads_(threads) {}

  /// Fits without a foreign peak and, if that is not well, with one that may be at one of `peaks`, or where
  /// fits of few haplotypes lack k-mers.
  void run(std::vector<std::uint64_t> peaks) {
    add_fits(fit_all(std::nullopt));
    if (best().chi_square >= kBadChiSquare || best().haplotypes() > 2) add_foreign(std::move(peaks));
    compare_with_best();
  }

  [[nodiscard]] const PeakMixture& best() const { return best_of(fits_); }

  /// Returns the best of another ploidy, if possible of those that say something else: not the same genome
  /// with haplotypes that it does not need, and haplotypes where the best fit has something foreign.
  [[nodiscard]] const PeakMixture* runner_up() const {
    const PeakMixture& first = best();
    const PeakMixture* second = nullptr;
    const auto rank = [&](const PeakMixture& fit) {
      return std::tuple{!is_guess(fit), !has_coincidence(first) || !fit.foreign, !is_needless(fit, first),
                        value(fit)};
    };
    for (const PeakMixture& fit : fits_) {
      if (fit.haplotypes() != first.haplotypes() && (second == nullptr || rank(fit) > rank(*second)))
        second = &fit;
    }
    return second;
  }
  [[nodiscard]] double worse_by(const PeakMixture& fit) const {
    return std::max(0.0, 2 * (value(best()) - value(fit)));
  }
  [[nodiscard]] bool is_equal(const PeakMixture& fit) const {
    return worse_by(fit) < 2 * kEqual && !is_guess(fit) && !is_needless(fit, best());
  }
  /// True when the spectrum cannot rule it out: it is as good, or the best fit owes it to what real peaks
  /// are not: of just that shape, or where the genome's would be by chance.
  [[nodiscard]] bool is_possible(const PeakMixture& fit) const {
    if (is_guess(fit) || is_needless(fit, best())) return false;
    const PeakMixture& first = best();
    if (has_coincidence(first) && !fit.foreign) return fit.explained > first.explained - kMostLost;
    const bool is_alike = fit.explained > first.explained - kAlike && first.chi_square >= kBadChiSquare;
    return is_alike || is_equal(fit);
  }

 private:
  /// True when what it has for foreign is where haplotypes or repeats would be.
  static bool has_coincidence(const PeakMixture& fit) { return fit.foreign && is_of_genome(fit); }

  void add_foreign(std::vector<std::uint64_t> peaks) {
    for (const auto& [ploidy, unit] : {std::pair{1u, main_}, {2u, main_}, {2u, main_ / 2}}) {
      const PeakMixture simple = weigh_mixture(bins_, {ploidy, unit, kUsualDispersion, std::nullopt});
      const std::optional<double> excess = most_excess(bins_, simple);
      const bool is_known = !excess || std::any_of(peaks.begin(), peaks.end(), [&](std::uint64_t peak) {
        return std::abs(std::log(static_cast<double>(peak) / *excess)) < kNearPeak;
      });
      if (!is_known) peaks.push_back(static_cast<std::uint64_t>(std::lround(*excess)));
    }
    for (const std::uint64_t peak : peaks) {
      add_fits(fit_all(ForeignPeak{static_cast<double>(peak), kUsualDispersion, 0}));
    }
  }

  /// The other ploidies as good as they can be where the best one is.
  void compare_with_best() {
    const PeakMixture& first = best();
    std::vector<MixtureStart> starts;
    for (unsigned ploidy = 1; ploidy <= kMostPloidy; ++ploidy) {
      const double unit = first.coverage() / ploidy;
      if (ploidy != first.ploidy) starts.push_back({ploidy, unit, first.dispersion, first.foreign});
      if (first.foreign) starts.push_back({ploidy, unit, first.dispersion, std::nullopt});
    }
    add_fits(refine_all(starts));
  }

  /// Adds fits, and what they are if their haplotypes are places of less coverage.
  void add_fits(const std::vector<PeakMixture>& fits) {
    for (const PeakMixture& fit : fits) {
      fits_.push_back(fit);
      if (can_be_thin(fit)) fits_.push_back(thin_reading(fit));
    }
  }

  /// True when there are not many k-mers below the peak of all haplotypes, and no peak of them. They are of
  /// any shape, for which it takes two numbers of haplotypes or more.
  [[nodiscard]] bool can_be_thin(const PeakMixture& fit) const {
    if (fit.ploidy < 3 || fit.foreign || 1 - fit.homozygous() > kMostThin) return false;
    return std::none_of(peaks_.begin(), peaks_.end(), [&](std::uint64_t peak) {
      return static_cast<double>(peak) < fit.coverage() && !is_near(peak, fit.coverage());
    });
  }

  /// Returns half the Bayesian information criterion, negative, with what is known of genomes. `scale` is by
  /// how much more than chance the best model is off: all that is explained counts so much less.
  [[nodiscard]] double value(const PeakMixture& fit, double scale) const {
    return fit.log_likelihood / scale - fit.implausibility -
           0.5 * fit.parameters() * std::log(std::max(2.0, bins_.all)) - (is_guess(fit) ? kGuess : 0);
  }
  [[nodiscard]] double value(const PeakMixture& fit) const { return value(fit, scale()); }
  [[nodiscard]] double scale() const { return scale_of(fits_); }
  [[nodiscard]] double scale_of(const std::vector<PeakMixture>& fits) const {
    double least = HUGE_VAL;
    for (const PeakMixture& fit : fits) {
      if (!is_guess(fit)) least = std::min(least, fit.chi_square);
    }
    return least < HUGE_VAL ? std::max(1.0, least) : 1;
  }
  static bool is_near(std::uint64_t peak, double mean) {
    return std::abs(std::log(static_cast<double>(peak) / mean)) < 0.2;
  }
  /// True when there is a peak that is not the one of all haplotypes.
  [[nodiscard]] bool is_seen(double mean, double coverage) const {
    return std::any_of(peaks_.begin(), peaks_.end(),
                       [&](std::uint64_t peak) { return is_near(peak, mean) && !is_near(peak, coverage); });
  }
  struct CountWindow {
    double unexplained = 0, all = 0, counts = 0;
    [[nodiscard]] double height() const { return unexplained / std::max(1.0, counts); }
  };
  /// Returns the k-mers around a count, and how many of them nothing but heterozygous ones explain.
  [[nodiscard]] CountWindow around(const PeakMixture& diploid, double count) const {
    const double reach = 0.5 * std::sqrt(diploid.unit * (1 + diploid.dispersion));
    CountWindow window;
    for (std::size_t b = 0; b < bins_.centres.size(); ++b) {
      const double x = bins_.centres[b];
      if (std::abs(x - count) > reach) continue;
      const double own = diploid.kmers[0] * peak_density(x, diploid.unit, diploid.dispersion);
      window.unexplained += diploid.excess[b] + bins_.widths[b] * own;
      window.all += bins_.kmers[b];
      window.counts += bins_.widths[b];
    }
    return window;
  }
  /// True when the heterozygous k-mers of a diploid fit are a peak of their own on the flank of the other
  /// one, once all else is taken away. K-mers that are no such peak are a tail, which genomes of one
  /// haplotype have, too, and which several haplotypes would explain, but for their number.
  [[nodiscard]] bool is_shoulder(const PeakMixture& fit) const {
    const double deviation = std::sqrt(fit.unit * (1 + fit.dispersion));
    if (fit.ploidy != 2 || fit.unit - 2 * deviation < static_cast<double>(bins_.first)) return false;
    const CountWindow top = around(fit, fit.unit);
    const double beside = std::max(around(fit, fit.unit - 2 * deviation).height(),
                                   around(fit, fit.unit + 2 * deviation).height());
    return top.height() > kShoulder * beside && top.unexplained > kSignificant * std::sqrt(top.all);
  }
  /// True when it has k-mers for which there is no peak to be seen. Real peaks are not quite of the shape of
  /// the model, and k-mers of anything can mend that.
  [[nodiscard]] bool is_guess(const PeakMixture& fit) const {
    return has_unseen_foreign(fit) || has_unseen_haplotypes(fit);
  }
  [[nodiscard]] bool has_unseen_foreign(const PeakMixture& fit) const {
    if (!fit.foreign) return false;
    const double mean = fit.foreign->mean, larger = std::max(mean, fit.coverage());
    const bool is_apart = std::abs(mean - fit.coverage()) > kApart * std::sqrt(larger * (1 + fit.dispersion));
    const bool is_few = fit.foreign->kmers < kFew * fit.places();
    return (is_few || !is_apart) && !is_seen(mean, fit.coverage());
  }
  [[nodiscard]] bool has_unseen_haplotypes(const PeakMixture& fit) const {
    if (fit.haplotypes() == 1) return false;
    const double heterozygous = 1 - fit.homozygous();
    if (heterozygous < kFew) {
      for (unsigned i = 1; i < fit.ploidy; ++i) {
        if (is_seen(i * fit.unit, fit.coverage())) return false;
      }
      return !is_shoulder(fit);
    }
    // Without k-mers of one haplotype, nothing says what one of them is.
    return fit.ploidy > 2 && fit.kmers[0] < kLeastSingle * heterozygous * fit.places() * fit.ploidy;
  }
  [[nodiscard]] const PeakMixture& best_of(const std::vector<PeakMixture>& fits) const {
    const double scale = scale_of(fits);
    return *std::max_element(fits.begin(), fits.end(), [&](const PeakMixture& a, const PeakMixture& b) {
      return value(a, scale) < value(b, scale);
    });
  }
  [[nodiscard]] bool is_needless(const PeakMixture& fit, const PeakMixture& first) const {
    return (fit.haplotypes() > first.haplotypes() && is_same_coverage(fit, first) &&
            fit.log_likelihood < first.log_likelihood + kEqual * scale());
  }

  /// Returns, for each ploidy, the fits of the two best starts.
  [[nodiscard]] std::vector<PeakMixture> fit_all(const std::optional<ForeignPeak>& foreign) const {
    const double low = std::max(1.2, main_ / (kMostPloidy + 0.5));
    auto starts = find_starts(bins_, low, 1.15 * main_ + 3, foreign, threads_);
    std::vector<PeakMixture> fits = refine_all(best_starts(starts[0]));
    std::vector<MixtureStart> best;
    for (unsigned ploidy = 2; ploidy <= kMostPloidy; ++ploidy) {
      std::vector<MixtureStart>& own = starts[ploidy - 1];
      if (!fits.empty()) add_like(fits.front(), ploidy, own);
      for (const MixtureStart& start : best_starts(own)) best.push_back(start);
    }
    for (PeakMixture& fit : refine_all(best)) fits.push_back(std::move(fit));
    return fits;
  }

  /// The peak of one haplotype may be that of one or of all of several.
  void add_like(const PeakMixture& one, unsigned ploidy, std::vector<MixtureStart>& starts) const {
    for (const double unit : {one.unit, one.unit / ploidy}) {
      const auto last = static_cast<double>(bins_.last);
      if (ploidy * unit <= last) starts.push_back({ploidy, unit, one.dispersion, one.foreign});
    }
  }
  /// Returns the two best starts.
  [[nodiscard]] std::vector<MixtureStart> best_starts(const std::vector<MixtureStart>& starts) const {
    auto rated = make_all(threads_, starts.size(), [&](std::size_t i) {
      return std::pair{-weigh_mixture(bins_, starts[i]).log_likelihood, i};
    });
    std::sort(rated.begin(), rated.end());
    rated.resize(std::min<std::size_t>(2, rated.size()));
    std::vector<MixtureStart> best;
    best.reserve(rated.size());
    for (const auto& [misfit, i] : rated) best.push_back(starts[i]);
    return best;
  }
  [[nodiscard]] std::vector<PeakMixture> refine_all(const std::vector<MixtureStart>& starts) const {
    return make_all(threads_, starts.size(), [&](std::size_t i) { return refine_mixture(bins_, starts[i]); });
  }

  const SpectrumBins& bins_;
  const std::vector<std::uint64_t>& peaks_;
  double main_;
  unsigned threads_;
  std::vector<PeakMixture> fits_;
};

class Modeller {
 public:
  Modeller(const index::IndexParams& params, const index::Totals& totals, const index::Histogram& histogram,
           unsigned threads)
      : params_(params), totals_(totals), spectrum_(totals, histogram), threads_(threads) {}

  SpectrumModel run() {
    if (totals_.stored_distinct == 0) {
      model_.reason = "it has no k-mers";
      return model_;
    }
    Turns turns = find_turns(spectrum_);
    for (const std::uint64_t peak : turns.peaks)
      model_.peaks.push_back({peak, static_cast<std::uint64_t>(spectrum_.at(peak))});
    if (turns.peaks.empty()) {
      model_.reason = "no peak behind the k-mers of small counts";
      if (totals_.largest_count > SmoothSpectrum::kLargestCount)
        model_.reason += fmt::format(" (none is looked for above {})", SmoothSpectrum::kLargestCount);
      return model_;
    }
    pass_error_peaks(spectrum_, params_.k, turns);
    const bool begins_with_peak = turns.valley == spectrum_.first();
    model_.error_cutoff = begins_with_peak ? 0 : turns.valley;
    if (is_plausible()) estimate(turns);
    return model_;
  }

 private:
  [[nodiscard]] std::uint64_t first_genomic() const {
    return std::max(spectrum_.first(), *model_.error_cutoff + 1);
  }

  /// True when the k-mers above the cut-off can be a genome's.
  bool is_plausible() {
    const double kmers = spectrum_.occurrences(spectrum_.first(), first_genomic());
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

  void estimate(const Turns& turns) {
    const std::uint64_t main = largest_peak(spectrum_, turns.peaks);
    const SpectrumBins bins(spectrum_, first_genomic(), end_of_fit(turns.peaks, main),
                            *model_.error_cutoff > 0);
    std::vector<std::uint64_t> others;
    for (const std::uint64_t peak : turns.peaks) {
      if (peak != main && peak < bins.last) others.push_back(peak);
    }
    std::sort(others.begin(), others.end(),
              [&](auto a, auto b) { return area(spectrum_, a) > area(spectrum_, b); });
    others.resize(std::min(others.size(), kMostForeignTried));
    Ploidies ploidies(bins, turns.peaks, main, threads_);
    ploidies.run(others);
    const PeakMixture& fit = ploidies.best();
    if (!is_believed(fit, turns)) return;
    note_curve(fit);
    find_foreign(turns.peaks, bins.last, fit);
    fill(fit);
    if (const PeakMixture* const other = ploidies.runner_up()) {
      model_.runner_up =
          OtherPloidy{other->haplotypes(),       other->coverage(),         size(*other),
                      ploidies.worse_by(*other), ploidies.is_equal(*other), ploidies.is_possible(*other)};
    }
  }

  /// Up to 4.5 times the main peak, or further, until there are few k-mers: peaks of few copies.
  [[nodiscard]] std::uint64_t end_of_fit(const std::vector<std::uint64_t>& peaks, std::uint64_t main) const {
    std::uint64_t end = main * 9 / 2 + 1;
    const double all = spectrum_.sum(first_genomic(), 9 * main);
    while (end < 9 * main && spectrum_.sum(end, 9 * main) > kFewKmers * all) end += main / 4 + 1;
    // No peak is cut in two.
    for (const std::uint64_t peak : peaks) {
      const std::uint64_t flank = 4 * static_cast<std::uint64_t>(std::sqrt(2 * static_cast<double>(peak)));
      if (peak < end + flank) end = std::max(end, peak + flank);
    }
    return end;
  }

  bool is_believed(const PeakMixture& fit, const Turns& turns) {
    const std::uint64_t first_peak = turns.peaks.front();
    const bool is_shallow = spectrum_.smooth(turns.valley) > kShallowValley * spectrum_.smooth(first_peak);
    if (fit.coverage() < kLeastCoverage) {
      model_.reason = "the coverage is too low";
    } else if (is_shallow && (fit.dispersion > kNarrow || fit.explained < kGoodFit)) {
      model_.reason = "the valley before the first peak is not deep";
    } else if (fit.explained < kLeastFit) {
      model_.reason = "the main peak has not the shape of a coverage";
    } else {
      return true;
    }
    return false;
  }

  void note_curve(const PeakMixture& fit) {
    for (std::size_t i = 0; i < fit.kmers.size(); ++i) {
      if (fit.kmers[i] > 0) {
        model_.curve.push_back(
            {static_cast<double>(fit.copies[i]) * fit.unit, fit.dispersion, fit.kmers[i], fit.copies[i]});
      }
    }
    if (fit.foreign)
      model_.curve.push_back({fit.foreign->mean, fit.foreign->dispersion, fit.foreign->kmers, 0});
  }

  /// Peaks too far up to be fitted that are too many k-mers to be repeats.
  void find_foreign(const std::vector<std::uint64_t>& peaks, std::uint64_t from, const PeakMixture& fit) {
    if (fit.foreign) {
      model_.foreign.push_back({fit.foreign->mean, fit.foreign->kmers});
      foreign_kmers_ += fit.foreign->mean * fit.foreign->kmers;
    }
    for (const std::uint64_t peak : peaks) {
      const bool is_fitted =
          fit.foreign && std::abs(std::log(static_cast<double>(peak) / fit.foreign->mean)) < 0.25;
      if (peak < from || is_fitted) continue;
      const auto reach = static_cast<std::uint64_t>(
          3.5 * std::sqrt(static_cast<double>(peak) * (1 + std::max(1.0, fit.dispersion))));
      const std::uint64_t low = peak > reach ? peak - reach : 0, high = peak + reach + 1;
      const double distinct = spectrum_.sum(low, high), sum = spectrum_.occurrences(low, high);
      const double copies = static_cast<double>(peak) / fit.coverage();
      if (distinct < fit.places() * most_repeats(1, static_cast<std::size_t>(std::lround(copies)))) continue;
      model_.foreign.push_back({sum / distinct, distinct});
      foreign_kmers_ += sum;
    }
  }

  void fill(const PeakMixture& fit) {
    GenomeEstimate& estimate = model_.estimate.emplace();
    estimate.ploidy = fit.haplotypes();
    estimate.kmer_coverage = fit.coverage();
    estimate.dispersion = fit.dispersion;
    estimate.fit = fit.explained;
    if (fit.haplotypes() > 1) {
      estimate.heterozygous_coverage = fit.unit;
      estimate.heterozygosity = 1 - std::pow(fit.homozygous(), 1.0 / params_.k);
    }
    estimate_errors(spectrum_, fit, *model_.error_cutoff, params_.k,
                    static_cast<double>(totals_.stored_kmers), estimate);
    error_kmers_ = *estimate.error_kmers;
    estimate.genome_size = size(fit);
    if (estimate.genome_size)
      estimate.repeat_fraction = std::clamp(1 - fit.places() / *estimate.genome_size, 0.0, 1.0);
    // What is left out where no bound says so may be of any count.
    if (totals_.min_count > 1 || totals_.are_chosen != 0 ||
        (totals_.max_count == UINT64_MAX && totals_.left_out() > 0))
      estimate.error_kmers = estimate.error_distinct = estimate.error_rate = std::nullopt;
  }

  [[nodiscard]] std::optional<double> size(const PeakMixture& fit) const {
    if (totals_.max_count != UINT64_MAX) return std::nullopt;
    return (static_cast<double>(totals_.stored_kmers) - error_kmers_ - foreign_kmers_) / fit.coverage() +
           fit.lacking();
  }

  const index::IndexParams& params_;
  const index::Totals& totals_;
  SmoothSpectrum spectrum_;
  unsigned threads_;
  SpectrumModel model_;
  double error_kmers_ = 0, foreign_kmers_ = 0;
};

/// Returns the greatest common divisor of all counts, if they are enough to say so.
std::uint64_t divisor_of(const index::Histogram& histogram) {
  constexpr std::size_t kLeastCounts = 8;
  if (histogram.size() < kLeastCounts) return 1;
  std::uint64_t divisor = 0;
  for (const auto& [count, kmers] : histogram) divisor = std::gcd(divisor, count);
  return divisor;
}

/// Models the spectrum as if each k-mer had been counted once where it was `divisor` times.
SpectrumModel model_divided(const index::IndexParams& params, index::Totals totals,
                            const index::Histogram& histogram, std::uint64_t divisor, unsigned threads) {
  index::Histogram divided;
  for (const auto& [count, kmers] : histogram) divided[count / divisor] = kmers;
  totals.stored_kmers /= divisor;
  totals.largest_count /= divisor;
  totals.min_count = (totals.min_count + divisor - 1) / divisor;
  if (totals.max_count != UINT64_MAX) totals.max_count /= divisor;
  SpectrumModel model = Modeller(params, totals, divided, threads).run();
  const auto times = static_cast<double>(divisor);
  model.count_divisor = divisor;
  if (model.error_cutoff) *model.error_cutoff *= divisor;
  for (SpectrumPeak& peak : model.peaks) peak.count *= divisor;
  for (ForeignGenome& foreign : model.foreign) foreign.coverage *= times;
  for (ModelPeak& peak : model.curve) peak.mean *= times;
  if (model.runner_up) model.runner_up->kmer_coverage *= times;
  if (model.estimate) {
    model.estimate->kmer_coverage *= times;
    if (model.estimate->heterozygous_coverage) *model.estimate->heterozygous_coverage *= times;
    if (model.estimate->error_kmers) *model.estimate->error_kmers *= times;
  }
  return model;
}

}  // namespace

double SpectrumModel::expected(std::uint64_t count) const {
  if (count % count_divisor != 0) return 0;
  const auto times = static_cast<double>(count_divisor);
  double sum = 0;
  for (const ModelPeak& peak : curve) {
    sum += peak.kmers * peak_density(static_cast<double>(count) / times, peak.mean / times, peak.dispersion);
  }
  return sum;
}

SpectrumModel model_spectrum(const index::IndexParams& params, const index::Totals& totals,
                             const index::Histogram& histogram, unsigned threads) {
  const std::uint64_t divisor = divisor_of(histogram);
  if (divisor > 1) return model_divided(params, totals, histogram, divisor, threads);
  return Modeller(params, totals, histogram, threads).run();
}

SpectrumModel model_spectrum(const index::IndexFile& index, unsigned threads) {
  return model_spectrum(index.params(), index.totals(), index.histogram(), threads);
}

}  // namespace warpmer::stats
