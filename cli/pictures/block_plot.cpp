#include "cli/pictures/block_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cli/pictures/chart.h"

namespace warpmer::cli {
namespace {

constexpr double kStepsLeft = 62, kStepsTop = 34, kStepsWidth = 400, kStepsHeight = 260;
constexpr double kStepsMargin = 18, kStepsText = 12, kStepsRow = 18;
/// Columns are at least so wide, in pixels: more detail is not seen on any screen.
constexpr double kNarrowestColumn = 0.1;

/// Consecutive sizes that are drawn as one: as high as the largest of them.
struct StepColumn {
  std::size_t first = 0, last = 0;  ///< sizes; `last` is behind them
  double begin = 0, end = 0;        ///< pixels
};

/// Returns columns of falling sizes, from the left side to the right one.
template <typename SizeAt>
std::vector<StepColumn> step_columns(std::size_t sizes, const SizeAt& size_at) {
  double all = 0;
  for (std::size_t i = 0; i < sizes; ++i) all += static_cast<double>(size_at(i));
  std::vector<StepColumn> columns;
  StepColumn column{0, 0, kStepsLeft, kStepsLeft};
  double sum = 0;
  for (std::size_t i = 0; i < sizes && size_at(i) > 0; ++i) {
    sum += static_cast<double>(size_at(i));
    column.last = i + 1;
    column.end = kStepsLeft + kStepsWidth * sum / all;
    if (column.end - column.begin < kNarrowestColumn && i + 1 < sizes) continue;
    columns.push_back(column);
    column = {i + 1, i + 1, column.end, column.end};
  }
  return columns;
}

/// The frame of both pictures: sizes up to `most` bases, over per cent of all bases.
class StepsDrawing {
 public:
  StepsDrawing(const std::string& title, std::uint64_t most, std::size_t rows, Svg::Frame frame)
      : most_(std::max(1.0, static_cast<double>(most))),
        svg_(frame, kStepsLeft + kStepsWidth + kStepsMargin,
             kStepsTop + kStepsHeight + 54 + kStepsRow * static_cast<double>(rows), title) {
    svg_.text(8, 20, 14, shortened_text(title, 55), "class=\"ink\"");
    draw_axes();
  }

  [[nodiscard]] double y_of(std::uint64_t size) const { return height_at(static_cast<double>(size)); }
  void path(const std::string& steps, std::string_view attributes) {
    if (!steps.empty()) svg_.path(steps, attributes);
  }
  /// Adds a line to what says the colours.
  void add_name(std::string_view name, std::string_view paint) {
    const double y = kStepsTop + kStepsHeight + 46 + kStepsRow * static_cast<double>(names_++);
    svg_.rect(kStepsLeft, y, 10, 10, paint);
    svg_.text(kStepsLeft + 15, y + 9.5, kStepsText, shortened_text(name, 55), "class=\"ink\"");
  }
  std::string finish() {
    svg_.path(fmt::format("M{:.1f} {:.1f}V{:.1f}", kStepsLeft + kStepsWidth / 2, kStepsTop,
                          kStepsTop + kStepsHeight),
              "class=\"axis\" stroke-dasharray=\"4 3\"");
    return svg_.finish();
  }

 private:
  [[nodiscard]] double height_at(double value) const {
    return kStepsTop + kStepsHeight - kStepsHeight * value / most_;
  }
  void draw_axes() {
    const double bottom = kStepsTop + kStepsHeight, right = kStepsLeft + kStepsWidth;
    for (const double value : ticks_between(0, most_, 5)) {
      const double y = height_at(value);
      svg_.path(fmt::format("M{:.1f} {:.1f}H{:.1f}", kStepsLeft, y, right), "class=\"grid\"");
      svg_.text(kStepsLeft - 5, y + 4, kStepsText, tick_text(value), "class=\"faint\" text-anchor=\"end\"");
    }
    for (unsigned percent = 0; percent <= 100; percent += 25) {
      svg_.text(kStepsLeft + kStepsWidth * percent / 100, bottom + 17, kStepsText, fmt::format("{}", percent),
                "class=\"faint\" text-anchor=\"middle\"");
    }
    svg_.path(fmt::format("M{:.1f} {:.1f}V{:.1f}H{:.1f}", kStepsLeft, kStepsTop, bottom, right),
              "class=\"axis\"");
    svg_.text(kStepsLeft + kStepsWidth / 2, bottom + 35, kStepsText, "N, per cent of all bases",
              "class=\"ink\" text-anchor=\"middle\"");
    svg_.vertical_text(14, kStepsTop + kStepsHeight / 2, kStepsText, -90, "size, bases",
                       "class=\"ink\" text-anchor=\"middle\"");
  }

  double most_;
  Svg svg_;
  std::size_t names_ = 0;
};

/// Returns the group that has most bases of a column.
std::size_t group_of(const BlockPlot& plot, const StepColumn& column) {
  std::vector<std::uint64_t> bases(plot.groups.size());
  for (std::size_t i = column.first; i < column.last; ++i)
    bases[plot.blocks[i].group] += plot.blocks[i].bases;
  return static_cast<std::size_t>(std::max_element(bases.begin(), bases.end()) - bases.begin());
}

}  // namespace

std::string draw_blocks(const BlockPlot& plot, Svg::Frame frame) {
  StepsDrawing drawing(plot.title, plot.blocks.empty() ? 0 : plot.blocks.front().bases, plot.groups.size(),
                       frame);
  std::vector<std::string> paths(plot.groups.size());
  const double bottom = drawing.y_of(0);
  for (const StepColumn& column :
       step_columns(plot.blocks.size(), [&](std::size_t i) { return plot.blocks[i].bases; })) {
    paths[group_of(plot, column)] +=
        fmt::format("M{:.2f} {:.2f}V{:.2f}H{:.2f}V{:.2f}Z", column.begin, bottom,
                    drawing.y_of(plot.blocks[column.first].bases), column.end, bottom);
  }
  for (std::size_t group = 0; group < plot.groups.size(); ++group) {
    const std::string paint = fmt::format("class=\"fill{}\"", group + 1);
    drawing.path(paths[group], paint + " fill-opacity=\".7\"");
    drawing.add_name(plot.groups[group], paint);
  }
  return drawing.finish();
}

std::string draw_continuity(const ContinuityPlot& plot, Svg::Frame frame) {
  std::uint64_t most = 0;
  for (const ContinuityPlot::Curve& curve : plot.curves)
    most = std::max(most, curve.sizes.empty() ? 0 : curve.sizes.front());
  StepsDrawing drawing(plot.title, most, plot.curves.size(), frame);
  for (std::size_t c = 0; c < plot.curves.size(); ++c) {
    const std::vector<std::uint64_t>& sizes = plot.curves[c].sizes;
    std::string steps;
    for (const StepColumn& column : step_columns(sizes.size(), [&](std::size_t i) { return sizes[i]; })) {
      const double y = drawing.y_of(sizes[column.first]);
      steps += steps.empty() ? fmt::format("M{:.2f} {:.2f}", column.begin, y) : fmt::format("V{:.2f}", y);
      steps += fmt::format("H{:.2f}", column.end);
    }
    if (!steps.empty()) steps += fmt::format("V{:.2f}", drawing.y_of(0));
    drawing.path(steps, fmt::format("class=\"line{}\"", c + 1));
    drawing.add_name(plot.curves[c].name, fmt::format("class=\"fill{}\"", c + 1));
  }
  return drawing.finish();
}

}  // namespace warpmer::cli
