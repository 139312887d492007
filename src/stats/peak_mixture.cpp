#include "stats/peak_mixture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>

#include "base/thread_team.h"
#include "stats/peak_weights.h"

namespace warpmer::stats {

namespace {

constexpr double kLeastDispersion = 1e-3, kMostDispersion = 8;
/// Places of less coverage are not there as a rule.
constexpr double kThin = 3;
/// They are so many standard deviations away from the others.
constexpr double kThinApart = 1.8;

/// A foreign peak at a multiple of the coverage would be there by chance.
constexpr double kForeignByChance = 15;

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

/// The weights of peaks of a place and a shape.
struct PlacedPeaks {
  PlacedPeaks(const SpectrumBins& bins, const MixtureStart& at, int rounds)
      : curves(make_curves(bins, at.unit, at.dispersion, at.foreign)),
        fit(bins, curves, at.ploidy, at.foreign, at.unit) {
    fit.run(Products(bins, curves, bins.spread), rounds, 150);
  }
  PlacedPeaks(const PlacedPeaks&) = delete;  // `fit` looks at `curves`
  PlacedPeaks& operator=(const PlacedPeaks&) = delete;
  Curves curves;
  WeightFit fit;
};

PeakMixture fit_at(const SpectrumBins& bins, const MixtureStart& at, int rounds) {
  const PlacedPeaks peaks(bins, at, rounds);
  const WeightFit& fit = peaks.fit;
  PeakMixture result;
  result.ploidy = at.ploidy;
  result.unit = at.unit;
  result.dispersion = at.dispersion;
  result.copies = peaks.curves.copies;
  const std::vector<double>& kmers = fit.kmers();
  result.kmers.assign(kmers.begin(), kmers.begin() + static_cast<std::ptrdiff_t>(result.copies.size()));
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

struct TriedStart {
  MixtureStart start;
  double log_likelihood;
};

/// Returns fits of all ploidies with a unit and some dispersions.
std::vector<TriedStart> try_unit(const SpectrumBins& bins, double unit,
                                 const std::optional<ForeignPeak>& foreign) {
  constexpr std::array<double, 3> kDispersions{0.1, 0.6, 2.5};
  std::vector<TriedStart> tried;
  for (const double dispersion : kDispersions) {
    const Curves curves = make_curves(bins, unit, dispersion, foreign);
    const Products products(bins, curves, bins.spread);
    for (unsigned ploidy = 1; ploidy <= kMostPloidy; ++ploidy) {
      if (ploidy * unit > static_cast<double>(bins.last)) break;  // nothing would speak for the last peak
      WeightFit fit(bins, curves, ploidy, foreign, unit);
      fit.run(products, 1, 30);
      tried.push_back({{ploidy, unit, dispersion, foreign}, fit.log_likelihood()});
    }
  }
  return tried;
}

}  // namespace

bool is_of_genome(const PeakMixture& fit) {
  const double up = fit.foreign->mean / fit.unit, down = fit.coverage() / fit.foreign->mean;
  return (up > 1 && up < 2 * kMostPloidy && is_whole(up)) ||
         (down > 1 && down < kMostPloidy + 0.5 && is_whole(down));
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
  const auto misfit = [&] { return -PlacedPeaks(bins, at, 2).fit.log_likelihood(); };
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

std::vector<std::vector<MixtureStart>> find_starts(const SpectrumBins& bins, double low, double high,
                                                   const std::optional<ForeignPeak>& foreign,
                                                   unsigned threads) {
  constexpr double kStep = 1.05;
  constexpr std::size_t kBest = 3;
  std::vector<double> units;
  for (double unit = low; unit <= high * 1.0001; unit *= kStep) units.push_back(unit);
  const auto tried_units =
      make_all(threads, units.size(), [&](std::size_t i) { return try_unit(bins, units[i], foreign); });
  std::vector<std::vector<MixtureStart>> starts;
  for (unsigned ploidy = 1; ploidy <= kMostPloidy; ++ploidy) {
    std::vector<TriedStart> all;
    for (const std::vector<TriedStart>& tried : tried_units) {
      std::copy_if(tried.begin(), tried.end(), std::back_inserter(all),
                   [&](const TriedStart& one) { return one.start.ploidy == ploidy; });
    }
    std::sort(all.begin(), all.end(),
              [](const TriedStart& a, const TriedStart& b) { return a.log_likelihood > b.log_likelihood; });
    std::vector<MixtureStart>& best = starts.emplace_back();
    for (const TriedStart& one : all) {
      const bool is_near = std::any_of(best.begin(), best.end(), [&](const MixtureStart& other) {
        return std::abs(std::log(other.unit / one.start.unit)) < 2.5 * std::log(kStep);
      });
      if (!is_near && best.size() < kBest) best.push_back(one.start);
    }
  }
  return starts;
}

}  // namespace warpmer::stats
