#pragma once
/// A matrix as a picture.

#include <string>
#include <vector>

#include "cli/framework/text_output.h"
#include "cli/pictures/svg.h"

namespace warpmer::cli {

struct HeatMap {
  std::string title;
  std::vector<std::string> names;
  std::vector<double> values;     ///< rows of n
  std::vector<double> distances;  ///< distances by which rows and columns are clustered, n x n
};

/// Draws it: rows and columns are in the order of their clusters (average linkage), with the tree beside
/// them. Cells with larger values are darker; each cell has its value as tooltip.
void draw_heat_map(const HeatMap& map, Svg::Frame frame, TextOutput& output);

}  // namespace warpmer::cli
