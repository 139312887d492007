#pragma once
/// A k-mer spectrum with its neighbouring counts averaged, and the valleys and peaks of it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "index/index_file.h"

namespace warpmer::stats {

/// Distinct k-mers by count, from `first` on, and their means over neighbours: about a third of the standard
/// deviation of a Poisson peak to each side.
class SmoothSpectrum {
 public:
  /// Peaks are looked for among counts up to this one.
  static constexpr std::uint64_t kLargestCount = std::uint64_t{1} << 20;

  SmoothSpectrum(const index::Totals& totals, const index::Histogram& histogram);

  [[nodiscard]] std::uint64_t first() const { return first_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  /// Returns the number of distinct k-mers of counts in [from, to).
  [[nodiscard]] double sum(std::uint64_t from, std::uint64_t to) const {
    const std::uint64_t a = std::clamp(from, first_, end_), b = std::clamp(to, first_, end_);
    return a < b ? sums_[b - first_] - sums_[a - first_] : 0;
  }
  [[nodiscard]] double at(std::uint64_t count) const { return sum(count, count + 1); }
  /// Returns how often they occur, all together.
  [[nodiscard]] double occurrences(std::uint64_t from, std::uint64_t to) const {
    double sum = 0;
    for (std::uint64_t count = std::max(from, first_); count < std::min(to, end_); ++count)
      sum += at(count) * static_cast<double>(count);
    return sum;
  }
  [[nodiscard]] double smooth(std::uint64_t count) const {
    return sum(from(count), to(count)) / width(count);
  }

  /// True when `high`, a count, has significantly more k-mers than `low`.
  [[nodiscard]] bool is_step(std::uint64_t low, std::uint64_t high) const;

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
Turns find_turns(const SmoothSpectrum& spectrum);

/// Returns about the number of k-mers below a peak: its height times its width.
double area(const SmoothSpectrum& spectrum, std::uint64_t peak);
/// Returns that of some peaks, one or more, which has the largest area.
std::uint64_t largest_peak(const SmoothSpectrum& spectrum, std::span<const std::uint64_t> peaks);

}  // namespace warpmer::stats
