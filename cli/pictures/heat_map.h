#pragma once
/// A matrix as a picture.

#include <string>
#include <vector>

#include "cli/pictures/svg.h"

namespace warpmer::cli {

struct HeatMap {
  std::string title;
  std::vector<std::string> names;
  std::vector<double> values;     ///< rows of n
  std::vector<double> distances;  ///< distances by which rows and columns are clustered, n x n
};

/// Returns it as SVG: rows and columns are in the order of their clusters (average linkage), with the tree
/// beside them. Cells with larger values are darker; each cell has its value as tooltip.
std::string draw_heat_map(const HeatMap& map, Svg::Frame frame);

}  // namespace warpmer::cli
