#include "stats/peak_curves.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace warpmer::stats {

namespace {

constexpr std::size_t kMostCopies = 64;
/// Up to so many copies, each number of them has its peak.
constexpr std::size_t kAllCopies = 12;
/// Peaks are taken for nothing so many standard deviations away.
constexpr double kReach = 9;

/// Bins of more counts are taken for two points; the others are summed up, a count from the one before.
constexpr double kMostSummed = 16;
/// Factors of errors: their numbers fall by these from count to count.
constexpr std::array<double, 2> kErrorFactors{0.2, 0.45};

/// Returns the logarithm of the gamma function. std::lgamma also writes its sign to a global variable, which
/// threads must not do at the same time; where there is lgamma_r, which does not, it is that.
template <class Real>
Real log_gamma(Real x) {
  int sign = 0;
  if constexpr (requires { lgamma_r(x, &sign); }) return lgamma_r(x, &sign);
  return std::lgamma(x);
}

/// A negative binomial distribution of counts.
class CountDistribution {
 public:
  CountDistribution(double mean, double dispersion)
      : size_(mean / dispersion),
        factor_(dispersion / (1 + dispersion)),
        log_factor_(std::log(factor_)),
        constant_(-log_gamma(size_) - size_ * std::log1p(dispersion)) {}

  [[nodiscard]] double at(double count, double log_factorial) const {
    return std::exp(log_gamma(count + size_) - log_factorial + constant_ + count * log_factor_);
  }
  [[nodiscard]] double at(double count) const { return at(count, log_gamma(count + 1)); }
  /// Returns what is at the next count, by what is at this one.
  [[nodiscard]] double next(double count, double density) const {
    return density * (factor_ * (count + size_) / (count + 1));
  }

 private:
  double size_, factor_, log_factor_, constant_;
};

void add_peak(const SpectrumBins& bins, double mean, double dispersion, Curves& curves) {
  const double deviation = std::sqrt(mean * (1 + dispersion));
  const double from = mean - kReach * deviation - 2, to = mean + 1.5 * kReach * deviation + 10;
  const auto place = [&](double x) {
    return static_cast<std::size_t>(std::lower_bound(bins.centres.begin(), bins.centres.end(), x) -
                                    bins.centres.begin());
  };
  const std::size_t first = place(from), last = place(to);
  double* value = curves.add(first, last);
  const CountDistribution distribution(mean, dispersion);
  std::size_t b = first;
  if (b < last && b < bins.summed) {
    double count = bins.centres[b] - (bins.widths[b] - 1) / 2, density = distribution.at(count);
    for (; b < std::min(last, bins.summed); ++b) {
      double sum = 0;
      for (const double end = count + bins.widths[b]; count < end; ++count) {
        sum += density;
        density = distribution.next(count, density);
      }
      *value++ = sum;
    }
  }
  for (; b < last; ++b) {
    const double x = bins.centres[b], off = bins.offsets[b];
    const double below = distribution.at(x - off, bins.log_factorials_below[b]);
    *value++ = 0.5 * bins.widths[b] * (below + distribution.at(x + off, bins.log_factorials[b]));
  }
}

}  // namespace

double* Curves::add(std::size_t first_bin, std::size_t last_bin) {
  first.push_back(first_bin);
  last.push_back(last_bin);
  begin_.push_back(values_.size());
  values_.resize(values_.size() + last_bin - first_bin, 0);
  return values_.data() + begin_.back();
}

double peak_density(double count, double mean, double dispersion) {
  return CountDistribution(mean, dispersion).at(count);
}

SpectrumBins::SpectrumBins(const SmoothSpectrum& spectrum, std::uint64_t first_count,
                           std::uint64_t last_count, bool errors)
    : first(first_count), last(std::min(last_count, spectrum.end())) {
  for (std::uint64_t count = first; count < last;) {
    const auto step =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::sqrt(static_cast<double>(count)) / 4));
    if (count + step > last) break;
    centres.push_back(static_cast<double>(count) + static_cast<double>(step - 1) / 2);
    widths.push_back(static_cast<double>(step));
    offsets.push_back(std::sqrt((widths.back() * widths.back() - 1) / 12));
    log_factorials.push_back(log_gamma(centres.back() + offsets.back() + 1));
    log_factorials_below.push_back(log_gamma(centres.back() - offsets.back() + 1));
    kmers.push_back(spectrum.sum(count, count + step));
    all += kmers.back();
    if (widths.back() <= kMostSummed) summed = widths.size();
    count += step;
  }
  for (std::size_t b = 0; b < kmers.size(); ++b) {
    const std::size_t from = b < 2 ? 0 : b - 2, to = std::min(kmers.size(), b + 3);
    double sum = 1;
    for (std::size_t i = from; i < to; ++i) sum += kmers[i];
    spread.push_back(sum / static_cast<double>(to - from));
  }
  if (!errors) return;
  for (const double factor : kErrorFactors) {
    for (const double x : centres) error_curves.push_back(std::pow(factor, x - static_cast<double>(first)));
  }
}

Curves make_curves(const SpectrumBins& bins, double unit, double dispersion,
                   const std::optional<ForeignPeak>& foreign) {
  Curves curves;
  curves.bins = bins.centres.size();
  // Where peaks are broader than their distance, not each is needed to make any sum of them. Of those behind
  // the end, there must be enough in sight.
  for (std::size_t i = 1; curves.copies.size() < kMostCopies;) {
    const double mean = static_cast<double>(i) * unit, deviation = std::sqrt(mean * (1 + dispersion));
    if (i > kMostPloidy && mean > static_cast<double>(bins.last) + 0.5 * deviation) break;
    add_peak(bins, mean, dispersion, curves);
    curves.copies.push_back(i);
    i += i < kAllCopies ? 1 : std::max<std::size_t>(1, static_cast<std::size_t>(0.8 * deviation / unit));
  }
  for (std::size_t i = 0; i < bins.error_curves.size(); i += curves.bins)
    std::copy_n(bins.error_curves.data() + i, curves.bins, curves.add(0, curves.bins));
  if (foreign) add_peak(bins, foreign->mean, foreign->dispersion, curves);
  return curves;
}

}  // namespace warpmer::stats
