#include "stats/error_peaks.h"

#include <algorithm>
#include <optional>
#include <span>

namespace warpmer::stats {

namespace {

/// A genome's count is that of its errors times 3 / e, with an error rate e of at most 6 %.
constexpr std::uint64_t kLeastTimes = 50;
/// K-mers of errors, by the number of those that one wrong base can make. Rates differ from place to place,
/// so that some are too rare for the peak; a few have two wrong bases.
constexpr double kLeastErrors = 0.15, kMostErrors = 1.3;
/// So much of all occurrences, at least, are the genome's: errors that often would leave few k-mers right.
constexpr double kLeastOccurrences = 0.5;

/// Returns the count between two at which the smoothed spectrum is the lowest, the first of them.
std::uint64_t lowest_between(const SmoothSpectrum& spectrum, std::uint64_t from, std::uint64_t to) {
  std::uint64_t lowest = from;
  for (std::uint64_t count = from; count < to; ++count) {
    if (spectrum.smooth(count) < spectrum.smooth(lowest)) lowest = count;
  }
  return lowest;
}

/// Returns the valley behind the largest peak, if that is one of errors.
std::optional<std::uint64_t> valley_behind_errors(const SmoothSpectrum& spectrum, std::uint32_t k,
                                                  const Turns& turns) {
  const std::span<const std::uint64_t> peaks = turns.peaks;
  const std::uint64_t largest = largest_peak(spectrum, peaks);
  const auto far = std::ranges::lower_bound(peaks, kLeastTimes * largest);
  if (far == peaks.end()) return std::nullopt;
  const std::uint64_t valley = lowest_between(spectrum, largest, largest_peak(spectrum, {far, peaks.end()}));
  const double possible = 3 * k * spectrum.sum(valley + 1, spectrum.end());
  const double errors = spectrum.sum(turns.valley + 1, valley + 1) / possible;
  if (errors < kLeastErrors || errors > kMostErrors) return std::nullopt;
  const double right = spectrum.occurrences(valley + 1, spectrum.end());
  const double wrong = spectrum.occurrences(spectrum.first(), valley + 1);
  if (right < kLeastOccurrences * (right + wrong)) return std::nullopt;
  return valley;
}

}  // namespace

void pass_error_peaks(const SmoothSpectrum& spectrum, std::uint32_t k, Turns& turns) {
  // Twice where k-mers with two wrong bases are a peak, too.
  while (const std::optional<std::uint64_t> valley = valley_behind_errors(spectrum, k, turns)) {
    turns.valley = *valley;
    std::erase_if(turns.peaks, [&](std::uint64_t peak) { return peak <= *valley; });
  }
}

}  // namespace warpmer::stats
