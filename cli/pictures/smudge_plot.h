#pragma once
/// Pairs of k-mers that differ in one base, by their counts: smudgeplot's picture.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cli/pictures/svg.h"

namespace warpmer::cli {

struct SmudgePlot {
  using VisitPairs = std::function<void(std::uint32_t smaller, std::uint32_t larger, std::uint64_t pairs)>;

  std::string title;
  /// Calls it for all two counts that there are.
  std::function<void(const VisitPairs&)> for_each_pair;
  /// Mean count of k-mers of one haplotype; none where it is not known: then there are no names.
  std::optional<double> coverage;
};

/// Returns it as SVG: across, the smaller count by the sum of both; up, the sum; the more pairs, the darker.
/// Names, as AAB, say how often k-mers with either base are there.
std::string draw_smudges(const SmudgePlot& plot, Svg::Frame frame);

}  // namespace warpmer::cli
