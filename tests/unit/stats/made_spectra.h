#pragma once
/// Spectra of made-up genomes, drawn around what is expected of them.

#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "stats/spectrum_model.h"

namespace warpmer::tests {

/// Distinct k-mers by count, expected.
using Expected = std::map<std::uint64_t, double>;

inline double probability(std::uint64_t count, double mean, double dispersion) {
  const auto x = static_cast<double>(count);
  if (dispersion == 0) return std::exp(x * std::log(mean) - mean - std::lgamma(x + 1));
  const double size = mean / dispersion, stay = 1 / (1 + dispersion);
  return std::exp(std::lgamma(x + size) - std::lgamma(size) - std::lgamma(x + 1) + size * std::log(stay) +
                  x * std::log1p(-stay));
}

inline void add_peak(Expected& spectrum, double kmers, double mean, double dispersion = 0) {
  const auto last = static_cast<std::uint64_t>(mean + 12 * std::sqrt(mean * (1 + dispersion)) + 20);
  for (std::uint64_t count = 1; count <= last; ++count)
    spectrum[count] += kmers * probability(count, mean, dispersion);
}

/// Each further occurrence of an error has a chance of 4 %. Returns the occurrences.
inline double add_errors(Expected& spectrum, double genomic_kmers, double error_rate, int k) {
  const double right = std::pow(1 - error_rate, k);
  const double kmers = genomic_kmers * (1 - right) / right;
  for (std::uint64_t count = 1; count < 30; ++count)
    spectrum[count] += kmers * 0.96 * 0.96 * std::pow(0.04, static_cast<double>(count - 1));
  return kmers;
}

struct Spectrum {
  index::IndexParams params;
  index::Totals totals;
  index::Histogram histogram;
  [[nodiscard]] stats::SpectrumModel model(unsigned threads = 1) const {
    return stats::model_spectrum(params, totals, histogram, threads);
  }
};

/// Numbers drawn around what is expected; only counts from `min_count` to `max_count` are stored.
inline Spectrum draw(const Expected& expected, std::uint32_t k = 31, std::uint64_t min_count = 1,
                     std::uint64_t max_count = UINT64_MAX) {
  Spectrum spectrum;
  spectrum.params.k = k;
  spectrum.totals.min_count = min_count;
  spectrum.totals.max_count = max_count;
  std::mt19937_64 random(11);
  for (const auto& [count, mean] : expected) {
    if (count < min_count || count > max_count || mean <= 0) continue;
    const auto kmers = std::poisson_distribution<std::uint64_t>(mean)(random);
    if (kmers == 0) continue;
    spectrum.histogram[count] = kmers;
    spectrum.totals.stored_kmers += count * kmers;
    spectrum.totals.stored_distinct += kmers;
    spectrum.totals.largest_count = count;
  }
  return spectrum;
}

inline bool is_within(double value, double expected, double share) {
  return std::abs(value - expected) <= share * expected;
}

inline constexpr double kGenome = 2e6;

/// Peaks of `kmers[i]` distinct k-mers at i + 1 times `unit`, with errors.
inline Expected of_peaks(double unit, const std::vector<double>& kmers, double dispersion = 0.3) {
  Expected expected;
  for (std::size_t i = 0; i < kmers.size(); ++i)
    add_peak(expected, kmers[i], static_cast<double>(i + 1) * unit, dispersion);
  for (std::uint64_t count = 1; count < 8; ++count)
    expected[count] += 2e4 * 0.94 * std::pow(0.06, static_cast<double>(count - 1));
  return expected;
}

}  // namespace warpmer::tests
