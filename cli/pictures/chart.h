#pragma once
/// Distinct k-mers by count, as a picture: what is to be seen, whoever draws it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/pictures/svg.h"

namespace warpmer::cli {

enum class SeriesStyle {
  bars,
  area,  ///< a line over a pale area
  line,
  layer,  ///< an area that hides what was drawn before, for stacks: the highest layer comes first
};

struct ChartSeries {
  std::string name;
  SeriesStyle style = SeriesStyle::bars;
  std::string_view fill, line;  ///< paints (svg.h)
  std::vector<double> values;   ///< one for each bin: k-mers of each of its counts, on average
};

/// A vertical line at a count.
struct ChartMark {
  double count = 0;
  std::string text;
};

/// A number of k-mers that have no count. Those of a chart stand upon each other at its left side.
struct ChartColumn {
  std::string_view fill;  ///< the paint of the series that they belong to
  double value = 0;
};

struct Chart {
  std::string title;
  std::uint64_t first = 1;  ///< least count of the first bin
  std::uint64_t step = 1;   ///< counts of a bin
  std::size_t bins = 1;
  bool is_log = false;
  double top = 1;  ///< what goes beyond is cut off
  std::vector<ChartSeries> series;
  std::vector<ChartColumn> columns;  ///< only with counts from 0 on
  std::vector<ChartMark> marks;

  [[nodiscard]] std::uint64_t begin_of(std::size_t bin) const { return first + bin * step; }
  /// Returns the count behind the last bin, or the largest that there is.
  [[nodiscard]] std::uint64_t end() const {
    return bins > (UINT64_MAX - first) / step ? UINT64_MAX : begin_of(bins);
  }
  /// Returns the height of a value, by that of the chart; above 1 for what is to be cut off.
  [[nodiscard]] double height_of(double value) const;
};

/// Returns values for the axis below a chart, or beside it: round ones, about `wanted` of them or fewer.
std::vector<double> ticks_between(double low, double high, unsigned wanted);
/// Returns the values beside a chart, whose height may be logarithmic: about five.
std::vector<double> height_ticks(const Chart& chart);
/// Returns a number in few characters, as 25k.
std::string tick_text(double value);

/// Returns it as SVG.
std::string draw_chart(const Chart& chart, Svg::Frame frame);

}  // namespace warpmer::cli
