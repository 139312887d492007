#include "stats/smooth_spectrum.h"

namespace warpmer::stats {

namespace {

/// A rise or fall is one if it is so many standard errors, and so much of the larger value.
constexpr double kTrendStandardErrors = 5;
constexpr double kLeastStep = 0.1;

}  // namespace

SmoothSpectrum::SmoothSpectrum(const index::Totals& totals, const index::Histogram& histogram)
    : first_(totals.min_count) {
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

bool SmoothSpectrum::is_step(std::uint64_t low, std::uint64_t high) const {
  const double a = smooth(low), b = smooth(high);
  const double error = std::sqrt(a / width(low) + b / width(high));
  return b - a > kTrendStandardErrors * error && b - a > kLeastStep * b;
}

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

double area(const SmoothSpectrum& spectrum, std::uint64_t peak) {
  return spectrum.smooth(peak) * std::sqrt(static_cast<double>(peak));
}

std::uint64_t largest_peak(const SmoothSpectrum& spectrum, std::span<const std::uint64_t> peaks) {
  return *std::max_element(peaks.begin(), peaks.end(), [&](std::uint64_t a, std::uint64_t b) {
    return area(spectrum, a) < area(spectrum, b);
  });
}

}  // namespace warpmer::stats
