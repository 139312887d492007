#include "stats/peak_mixture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace warpmer::stats {

namespace {

constexpr double kLeastDispersion = 1e-3, kMostDispersion = 8;
constexpr std::size_t kMostCopies = 64;
/// Up to so many copies, each number of them has its peak.
constexpr std::size_t kAllCopies = 12;
/// Peaks are taken for nothing so many standard deviations away.
constexpr double kReach = 9;

/// So near to a foreign peak (in standard deviations of it), there are no repeats.
constexpr double kForeignAlone = 2;

/// Places of less coverage are not there as a rule.
constexpr double kThin = 3;
/// They are so many standard deviations away from the others.
constexpr double kThinApart = 1.8;

/// A foreign peak at a multiple of the coverage would be there by chance.
constexpr double kForeignByChance = 15;

/// Genomes are such; see docs/spectrum.md. Of all places, at least so many have the same k-mer on all
/// haplotypes.
double least_homozygous(unsigned ploidy) { return ploidy == 1 ? 1 : ploidy == 2 ? 0.2 : 0.1; }
struct Curves {
  std::size_t bins = 0;
  std::vector<double> of;                ///< one curve after the other
  std::vector<std::size_t> first, last;  ///< each is 0 but for the bins in [first, last)
  std::vector<std::size_t> copies;       ///< numbers of copies of the first curves; rises
  [[nodiscard]] std::size_t number() const { return bins == 0 ? 0 : of.size() / bins; }
  [[nodiscard]] const double* curve(std::size_t i) const { return of.data() + i * bins; }
};

void add_peak(const SpectrumBins& bins, double mean, double dispersion, Curves& curves) {
  const double deviation = std::sqrt(mean * (1 + dispersion));
  const double from = mean - kReach * deviation - 2, to = mean + 1.5 * kReach * deviation + 10;
  const auto place = [&](double x) {
    return static_cast<std::size_t>(std::lower_bound(bins.centres.begin(), bins.centres.end(), x) -
                                    bins.centres.begin());
  };
  curves.first.push_back(place(from));
  curves.last.push_back(place(to));
  const double size = mean / dispersion;
  const double constant = -std::lgamma(size) - size * std::log1p(dispersion);
  const double of_count = std::log(dispersion / (1 + dispersion));
  curves.of.resize(curves.of.size() + bins.centres.size(), 0);
  double* const curve = curves.of.data() + curves.of.size() - bins.centres.size();
  const auto density = [&](double x, double log_factorial) {
    return std::exp(std::lgamma(x + size) - log_factorial + constant + x * of_count);
  };
  for (std::size_t b = curves.first.back(); b < curves.last.back(); ++b) {
    const double x = bins.centres[b], off = bins.offsets[b];
    curve[b] =
        off > 0
            ? 0.5 * bins.widths[b] *
                  (density(x - off, bins.log_factorials_below[b]) + density(x + off, bins.log_factorials[b]))
            : bins.widths[b] * density(x, bins.log_factorials[b]);
  }
}

/// Factors of errors: their numbers fall by these from count to count.
constexpr std::array<double, 2> kErrorFactors{0.2, 0.45};

/// Peaks of all numbers of copies up to the end, errors, and the foreign peak.
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
  if (bins.has_errors) {
    for (const double factor : kErrorFactors) {
      for (const double x : bins.centres)
        curves.of.push_back(std::pow(factor, x - static_cast<double>(bins.first)));
      curves.first.push_back(0);
      curves.last.push_back(bins.centres.size());
    }
  }
  if (foreign) add_peak(bins, foreign->mean, foreign->dispersion, curves);
  return curves;
}

/// Sums over all bins of products of two curves, and of a curve and the data, by the variances of the data.
struct Products {
  std::size_t n = 0;
  std::vector<double> of_curves, with_data;

  Products(const SpectrumBins& bins, const Curves& curves, const std::vector<double>& variances)
      : n(curves.number()), of_curves(n * n, 0), with_data(n, 0) {
    std::vector<double> weighed(curves.bins);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t first = curves.first[i], last = curves.last[i];
      const double* const curve = curves.curve(i);
      for (std::size_t b = first; b < last; ++b) {
        weighed[b] = curve[b] / variances[b];
        with_data[i] += weighed[b] * bins.kmers[b];
      }
      for (std::size_t j = i; j < n; ++j) {
        const double* const other = curves.curve(j);
        const std::size_t end = std::min(last, curves.last[j]);
        double sum = 0;
        for (std::size_t b = std::max(first, curves.first[j]); b < end; ++b) sum += weighed[b] * other[b];
        of_curves[i * n + j] = of_curves[j * n + i] = sum;
      }
    }
  }
  /// Replaces the curve of `i` by `own` times it and `other` times that of `j`.
  void mix(std::size_t i, double own, std::size_t j, double other) {
    with_data[i] = own * with_data[i] + other * with_data[j];
    for (std::size_t c = 0; c < n; ++c)
      of_curves[i * n + c] = own * of_curves[i * n + c] + other * of_curves[j * n + c];
    for (std::size_t r = 0; r < n; ++r)
      of_curves[r * n + i] = own * of_curves[r * n + i] + other * of_curves[r * n + j];
  }
};

/// Fits the weights of parts, for a fixed place and shape of all peaks. The first `ploidy` parts are places
/// of the haploid genome: of which i haplotypes have the k-mer (the last: all). Since some places must be
/// homozygous, the others bring some with them; so no weight needs more than not to be negative. The other
/// parts are curves: repeats, which are limited by the places, errors, and the foreign peak.
class WeightFit {
 public:
  WeightFit(const SpectrumBins& bins, const Curves& curves, unsigned ploidy,
            const std::optional<ForeignPeak>& foreign, double unit)
      : bins_(bins),
        curves_(curves),
        ploidy_(ploidy),
        has_foreign_(foreign.has_value()),
        weights_(curves.number(), 0),
        kmers_(curves.number(), 0) {
    for (std::size_t i = ploidy; i < curves.copies.size(); ++i) {
      double most = 0;
      for (std::size_t copies = curves.copies[i - 1] + 1; copies <= curves.copies[i]; ++copies) {
        const double from_foreign = foreign ? std::abs(static_cast<double>(copies) * unit - foreign->mean) /
                                                  std::sqrt(foreign->mean * (1 + foreign->dispersion))
                                            : HUGE_VAL;
        if (from_foreign > kForeignAlone) most += most_repeats(ploidy, copies);
      }
      most_repeats_.push_back(most);
    }
  }

  /// Fits by least squares, by variances taken from the data at first (`products`) and from the model in
  /// further rounds, which makes it maximum likelihood (Fisher scoring).
  void run(const Products& products, int rounds, int most_sweeps) {
    descend(products, most_sweeps);
    make_model();
    std::vector<double> variances(model_.size());
    for (int round = 1; round < rounds; ++round) {
      for (std::size_t b = 0; b < variances.size(); ++b) variances[b] = std::max(0.5, model_[b]);
      descend(Products(bins_, curves_, variances), most_sweeps);
      make_model();
    }
  }

  /// Returns the k-mers of each curve.
  [[nodiscard]] const std::vector<double>& kmers() const { return kmers_; }

  [[nodiscard]] double log_likelihood() const {
    double sum = 0;
    for (std::size_t b = 0; b < model_.size(); ++b) {
      const double y = bins_.kmers[b], mu = std::max(1e-6, model_[b]);
      sum += y > 0 ? y - mu - y * std::log(y / mu) : -mu;
    }
    return sum;
  }

  [[nodiscard]] double chi_square() const {
    double sum = 0, used = 0;
    for (std::size_t b = 0; b < model_.size(); ++b) {
      sum += std::pow(bins_.kmers[b] - model_[b], 2) / std::max(1.0, model_[b]);
      used += model_[b] >= 1 ? 1 : 0;
    }
    return sum / std::max(1.0, used - ploidy_ - 4);
  }

  /// Returns the k-mers of each bin, less what is modelled.
  [[nodiscard]] std::vector<double> excess() const {
    std::vector<double> excess(model_.size());
    for (std::size_t b = 0; b < model_.size(); ++b) excess[b] = bins_.kmers[b] - model_[b];
    return excess;
  }

  [[nodiscard]] double explained() const {
    double off = 0;
    for (std::size_t b = 0; b < model_.size(); ++b) off += std::abs(bins_.kmers[b] - model_[b]);
    return bins_.all > 0 ? std::max(0.0, 1 - off / bins_.all) : 0;
  }

 private:
  [[nodiscard]] double brought() const { return least_homozygous(ploidy_); }
  /// Returns the k-mers of i copies by place.
  [[nodiscard]] double own_share(unsigned i) const {
    return (1 - brought()) * static_cast<double>(ploidy_) / static_cast<double>(i);
  }

  [[nodiscard]] double places() const {
    double sum = 0;
    for (unsigned i = 0; i < ploidy_; ++i) sum += weights_[i];
    return sum;
  }

  [[nodiscard]] double most(std::size_t part, double places) const {
    if (part < ploidy_) return HUGE_VAL;
    if (part < curves_.copies.size()) return places * most_repeats_[part - ploidy_];
    return has_foreign_ && part + 1 == weights_.size() ? places : HUGE_VAL;
  }

  /// Moves one weight after the other, within its bounds, until none moves.
  void descend(Products products, int most_sweeps) {
    for (unsigned i = 1; i < ploidy_; ++i) products.mix(i - 1, own_share(i), ploidy_ - 1, brought());
    const std::size_t n = weights_.size();
    for (int round = 0; round < most_sweeps; ++round) {
      double moved = 0, sum = 0;
      const double of_genome = round == 0 && model_.empty() ? HUGE_VAL : places();
      for (std::size_t i = 0; i < n; ++i) {
        const double* const row = products.of_curves.data() + i * n;
        const double limit = most(i, of_genome);
        if (!(row[i] > 0) || std::isnan(limit)) continue;
        double rest = products.with_data[i];
        for (std::size_t j = 0; j < n; ++j) rest -= row[j] * weights_[j];
        const double next = std::clamp(weights_[i] + rest / row[i], 0.0, limit);
        moved += std::abs(next - weights_[i]);
        sum += next;
        weights_[i] = next;
      }
      if (moved <= 1e-6 * sum) break;
    }
  }

  void make_model() {
    kmers_ = weights_;
    for (unsigned i = 1; i < ploidy_; ++i) {
      kmers_[ploidy_ - 1] += brought() * weights_[i - 1];
      kmers_[i - 1] = own_share(i) * weights_[i - 1];
    }
    model_.assign(curves_.bins, 0);
    for (std::size_t i = 0; i < kmers_.size(); ++i) {
      if (kmers_[i] <= 0) continue;
      const double* const curve = curves_.curve(i);
      for (std::size_t b = curves_.first[i]; b < curves_.last[i]; ++b) model_[b] += kmers_[i] * curve[b];
    }
  }

  const SpectrumBins& bins_;
  const Curves& curves_;
  const unsigned ploidy_;
  const bool has_foreign_;
  std::vector<double> most_repeats_;  ///< most repeats of the parts behind the places, by all of these
  std::vector<double> weights_, kmers_, model_;
};

bool is_whole(double ratio) { return std::abs(ratio - std::round(ratio)) < 0.012 * ratio + 0.01; }

/// Returns the logarithm of how much rarer such a genome is than one of little heterozygosity and few
/// repeats.
double implausibility_of(const PeakMixture& fit) {
  const double places = fit.places();
  if (places <= 0) return 0;
  const double homozygous = fit.homozygous(), heterozygous = 1 - homozygous;
  double value = 0;
  if (fit.is_thin) value += kThin + 150 * std::pow(std::max(0.0, heterozygous - 0.1), 2);
  if (fit.haplotypes() == 2) value += 60 * std::pow(std::max(0.0, 0.4 - homozygous), 2);
  if (fit.haplotypes() > 2) {
    value += 400 * std::pow(std::max(0.0, 0.3 - homozygous), 2);
    // Haplotypes differ in all ways: without k-mers of some number of copies, it may be something else.
    for (unsigned i = 1; i < fit.ploidy; ++i) {
      const double share = i * fit.kmers[i - 1] / (fit.ploidy * places);
      value += 10 * std::max(0.0, 1 - share / std::max(1e-9, 0.05 * heterozygous)) *
               std::min(1.0, heterozygous / 0.05);
    }
  }
  if (fit.foreign && is_of_genome(fit)) value += kForeignByChance;
  double repeats = 0;
  for (std::size_t i = fit.ploidy; i < fit.kmers.size(); ++i) repeats += fit.kmers[i] / places;
  return value + 150 * std::pow(std::max(0.0, repeats - 0.08), 2);
}

PeakMixture fit_at(const SpectrumBins& bins, const MixtureStart& at, int rounds) {
  const Curves curves = make_curves(bins, at.unit, at.dispersion, at.foreign);
  WeightFit fit(bins, curves, at.ploidy, at.foreign, at.unit);
  fit.run(Products(bins, curves, bins.spread), rounds, 150);
  PeakMixture result;
  result.ploidy = at.ploidy;
  result.unit = at.unit;
  result.dispersion = at.dispersion;
  result.copies = curves.copies;
  const std::vector<double>& kmers = fit.kmers();
  result.kmers.assign(kmers.begin(), kmers.begin() + static_cast<std::ptrdiff_t>(curves.copies.size()));
  if (at.foreign) result.foreign = ForeignPeak{at.foreign->mean, at.foreign->dispersion, kmers.back()};
  result.log_likelihood = fit.log_likelihood();
  result.chi_square = fit.chi_square();
  result.explained = fit.explained();
  result.excess = fit.excess();
  result.implausibility = implausibility_of(result);
  return result;
}

/// Returns where `value`, with one minimum in [low, high], has it: by golden sections.
double least(double low, double high, int steps, const std::function<double(double)>& value) {
  constexpr double kSection = 0.6180339887498949;
  double a = high - kSection * (high - low), b = low + kSection * (high - low);
  double at_a = value(a), at_b = value(b);
  for (int i = 0; i < steps; ++i) {
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

}  // namespace

bool is_of_genome(const PeakMixture& fit) {
  const double up = fit.foreign->mean / fit.unit, down = fit.coverage() / fit.foreign->mean;
  return (up > 1 && up < 2 * kMostPloidy && is_whole(up)) ||
         (down > 1 && down < kMostPloidy + 0.5 && is_whole(down));
}

double most_repeats(unsigned ploidy, std::size_t copies) {
  const std::size_t of_one = (copies + ploidy - 1) / ploidy;
  const double fewer = std::pow(static_cast<double>(of_one) - 1, -1.5);
  return copies % ploidy == 0 ? 0.3 * fewer : 0.1 / ploidy * fewer;
}

double peak_density(double count, double mean, double dispersion) {
  const double size = mean / dispersion;
  return std::exp(std::lgamma(count + size) - std::lgamma(size) - std::lgamma(count + 1) -
                  size * std::log1p(dispersion) + count * std::log(dispersion / (1 + dispersion)));
}

SpectrumBins::SpectrumBins(const SmoothSpectrum& spectrum, std::uint64_t first_count,
                           std::uint64_t last_count, bool errors)
    : first(first_count), last(std::min(last_count, spectrum.end())), has_errors(errors) {
  for (std::uint64_t count = first; count < last;) {
    const auto step =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::sqrt(static_cast<double>(count)) / 4));
    if (count + step > last) break;
    centres.push_back(static_cast<double>(count) + static_cast<double>(step - 1) / 2);
    widths.push_back(static_cast<double>(step));
    offsets.push_back(std::sqrt((widths.back() * widths.back() - 1) / 12));
    log_factorials.push_back(std::lgamma(centres.back() + offsets.back() + 1));
    log_factorials_below.push_back(std::lgamma(centres.back() - offsets.back() + 1));
    kmers.push_back(spectrum.sum(count, count + step));
    all += kmers.back();
    count += step;
  }
  for (std::size_t b = 0; b < kmers.size(); ++b) {
    const std::size_t from = b < 2 ? 0 : b - 2, to = std::min(kmers.size(), b + 3);
    double sum = 1;
    for (std::size_t i = from; i < to; ++i) sum += kmers[i];
    spread.push_back(sum / static_cast<double>(to - from));
  }
}

double PeakMixture::at(double count) const {
  double sum = 0;
  for (std::size_t i = 0; i < kmers.size(); ++i) {
    if (kmers[i] > 0)
      sum += kmers[i] * peak_density(count, static_cast<double>(copies[i]) * unit, dispersion);
  }
  return sum;
}

double PeakMixture::places() const {
  double sum = 0;
  for (unsigned i = 1; i <= ploidy; ++i) sum += static_cast<double>(i) * kmers[i - 1];
  return sum * unit / coverage() + lacking();
}

double PeakMixture::lacking() const {
  double sum = 0;
  for (unsigned i = 1; i <= thin_copies; ++i) sum += (main_copies - i) * kmers[i - 1];
  return is_thin ? sum / main_copies : 0;
}

double PeakMixture::homozygous() const {
  const double all = places();
  return all > 0 ? kmers[ploidy - 1] / all : 0;
}

PeakMixture thin_reading(const PeakMixture& fit) {
  PeakMixture thin = fit;
  thin.is_thin = true;
  // What is near the main peak mends its shape. It counts into the mean, or else the peak would move.
  const double apart = kThinApart * std::sqrt(fit.coverage() * (1 + fit.dispersion)) / fit.unit;
  thin.thin_copies = static_cast<unsigned>(std::max(0.0, std::ceil(fit.ploidy - apart) - 1));
  double kmers = 0, copies = 0;
  for (unsigned i = thin.thin_copies + 1; i <= fit.ploidy; ++i) {
    kmers += fit.kmers[i - 1];
    copies += i * fit.kmers[i - 1];
  }
  thin.main_copies = kmers > 0 ? copies / kmers : fit.ploidy;
  thin.implausibility = implausibility_of(thin);
  return thin;
}

std::optional<double> most_excess(const SpectrumBins& bins, const PeakMixture& fit) {
  double best = 0;
  std::optional<double> where;
  for (std::size_t at = 0; at < bins.centres.size(); ++at) {
    const double deviation = std::sqrt(bins.centres[at] * (1 + fit.dispersion));
    double excess = 0, variance = 1;
    for (std::size_t b = 0; b < bins.centres.size(); ++b) {
      if (std::abs(bins.centres[b] - bins.centres[at]) > 0.8 * deviation) continue;
      excess += fit.excess[b];
      variance += bins.kmers[b];
    }
    const double deviations = excess / std::sqrt(variance);
    if (deviations > best) best = deviations, where = bins.centres[at];
  }
  constexpr double kLeastDeviations = 5;
  return best > kLeastDeviations ? where : std::nullopt;
}

PeakMixture weigh_mixture(const SpectrumBins& bins, const MixtureStart& start) {
  return fit_at(bins, start, 2);
}

PeakMixture refine_mixture(const SpectrumBins& bins, const MixtureStart& start) {
  MixtureStart at = start;
  const auto misfit = [&] { return -fit_at(bins, at, 2).log_likelihood; };
  const auto search = [&](double& value, double reach, int steps) {
    const double from = value;
    const double best = least(std::log(from) - reach, std::log(from) + reach, steps, [&](double logarithm) {
      value = std::exp(logarithm);
      return misfit();
    });
    value = std::exp(best);
  };
  // One parameter after the other: they hardly depend on each other.
  for (int round = 0; round < 3; ++round) {
    const double reach = round == 0 ? 0.06 : round == 1 ? 0.02 : 0.005;
    search(at.unit, reach, round == 0 ? 7 : 6);
    search(at.dispersion, round == 0 ? 1.2 : round == 1 ? 0.5 : 0.15, 7);
    at.dispersion = std::clamp(at.dispersion, kLeastDispersion, kMostDispersion);
    if (at.foreign) {
      search(at.foreign->mean, 2 * reach, 6);
      search(at.foreign->dispersion, round == 0 ? 1.5 : 0.5, 6);
      at.foreign->dispersion = std::clamp(at.foreign->dispersion, kLeastDispersion, kMostDispersion);
    }
  }
  return fit_at(bins, at, 6);
}

std::vector<MixtureStart> find_starts(const SpectrumBins& bins, double low, double high,
                                      const std::optional<ForeignPeak>& foreign) {
  constexpr double kStep = 1.05;
  constexpr std::array<double, 3> kDispersions{0.1, 0.6, 2.5};
  constexpr std::size_t kBest = 3;
  struct Tried {
    MixtureStart start;
    double log_likelihood;
  };
  std::vector<MixtureStart> starts;
  std::vector<std::vector<Tried>> tried(kMostPloidy);
  for (double unit = low; unit <= high * 1.0001; unit *= kStep) {
    for (const double dispersion : kDispersions) {
      const Curves curves = make_curves(bins, unit, dispersion, foreign);
      const Products products(bins, curves, bins.spread);
      for (unsigned ploidy = 1; ploidy <= kMostPloidy; ++ploidy) {
        if (ploidy * unit > static_cast<double>(bins.last)) break;  // nothing would speak for the last peak
        WeightFit fit(bins, curves, ploidy, foreign, unit);
        fit.run(products, 1, 30);
        tried[ploidy - 1].push_back({{ploidy, unit, dispersion, foreign}, fit.log_likelihood()});
      }
    }
  }
  for (std::vector<Tried>& all : tried) {
    std::sort(all.begin(), all.end(),
              [](const Tried& a, const Tried& b) { return a.log_likelihood > b.log_likelihood; });
    std::vector<MixtureStart> best;
    for (const Tried& one : all) {
      const bool is_near = std::any_of(best.begin(), best.end(), [&](const MixtureStart& other) {
        return std::abs(std::log(other.unit / one.start.unit)) < 2.5 * std::log(kStep);
      });
      if (!is_near && best.size() < kBest) best.push_back(one.start);
    }
    starts.insert(starts.end(), best.begin(), best.end());
  }
  return starts;
}

}  // namespace warpmer::stats
