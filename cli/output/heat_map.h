#pragma once
/// A matrix as a picture.

#include <string>
#include <vector>

#include "cli/framework/text_output.h"

namespace warpmer::cli {

struct HeatMap {
  std::string title;
  std::vector<std::string> names;
  std::vector<double> values;     ///< rows of n
  std::vector<double> distances;  ///< what rows and columns are clustered by, n x n
};

/// Writes an SVG: rows and columns in the order of their clusters (average linkage) with the tree beside
/// them, darker where values are larger, the value of each cell as its tooltip.
void write_heat_map(const HeatMap& map, TextOutput& output);

}  // namespace warpmer::cli
