#include "cli/pictures/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stats/average_linkage.h"

namespace warpmer::cli {
namespace {

constexpr double kMostSide = 900;  ///< side of the matrix, unless cells would get too small to see
constexpr double kLargestCell = 28, kSmallestCell = 2;
constexpr double kLeastTextSize = 6, kMostTextSize = 12;
constexpr double kMargin = 16, kTreeWidth = 90, kTop = 56;
constexpr double kTitleSize = 14, kScaleTextSize = 10;
constexpr int kSteps = 20, kStepWidth = 6;  ///< steps of the scale

std::string scale_text(double number) { return fmt::format("{:.4g}", number); }

/// From nearly white to dark blue.
std::string color_of(double part) {
  const auto mix = [part](double light, double dark) {
    return static_cast<int>(std::lround(light + (dark - light) * part));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(247, 8), mix(251, 48), mix(255, 107));
}

class MapDrawing {
 public:
  MapDrawing(const HeatMap& map, Svg::Frame frame)
      : map_(map),
        n_(map.names.size()),
        cell_(std::clamp(kMostSide / static_cast<double>(n_), kSmallestCell, kLargestCell)),
        side_(cell_ * static_cast<double>(n_)),
        tree_(stats::cluster_by_average_linkage(map.distances, n_)),
        left_(kMargin + kTreeWidth),
        low_(*std::min_element(map.values.begin(), map.values.end())),
        high_(*std::max_element(map.values.begin(), map.values.end())),
        svg_(frame, width() + kMargin, kTop + side_ + names_width() + kMargin, map.title) {}

  std::string draw() {
    svg_.text(kMargin, 22, kTitleSize, map_.title, kInk);
    draw_scale();
    draw_cells();
    if (has_names()) draw_names();
    draw_tree();
    return svg_.finish();
  }

 private:
  static constexpr std::string_view kInk = "class=\"ink\"";

  [[nodiscard]] double text_size() const { return std::min(kMostTextSize, cell_ * 0.8); }
  /// Returns the position at which the label of the largest value begins.
  [[nodiscard]] double scale_end() const { return left_ + kStepWidth * kSteps + 5; }
  [[nodiscard]] bool has_names() const { return text_size() >= kLeastTextSize; }
  [[nodiscard]] double names_width() const {
    std::size_t longest = 0;
    for (const std::string& name : map_.names) longest = std::max(longest, name.size());
    return has_names() ? text_width(longest, text_size()) + 12 : 0;
  }
  [[nodiscard]] double width() const {
    return std::max({left_ + side_ + names_width(),
                     scale_end() + text_width(scale_text(high_).size(), kScaleTextSize),
                     kMargin + text_width(map_.title.size(), kTitleSize)});
  }
  [[nodiscard]] double part_of(double value) const {
    return high_ > low_ ? (value - low_) / (high_ - low_) : 1;
  }

  void draw_scale() {
    for (int i = 0; i < kSteps; ++i) {
      svg_.rect(left_ + kStepWidth * i, 32, kStepWidth, 10,
                fmt::format("fill=\"{}\"", color_of((i + 0.5) / kSteps)));
    }
    svg_.text(left_ - 5, 41, kScaleTextSize, scale_text(low_), "class=\"ink\" text-anchor=\"end\"");
    svg_.text(scale_end(), 41, kScaleTextSize, scale_text(high_), kInk);
  }

  void draw_cells() {
    for (std::size_t row = 0; row < n_; ++row) {
      for (std::size_t column = 0; column < n_; ++column) {
        const std::size_t a = tree_.order[row], b = tree_.order[column];
        const double value = map_.values[a * n_ + b];
        svg_.rect(left_ + cell_ * static_cast<double>(column), kTop + cell_ * static_cast<double>(row), cell_,
                  cell_, fmt::format("fill=\"{}\"", color_of(part_of(value))),
                  fmt::format("{}, {}: {:.6g}", map_.names[a], map_.names[b], value));
      }
    }
  }

  void draw_names() {
    constexpr std::string_view kMiddle = "class=\"ink\" dominant-baseline=\"central\"";
    for (std::size_t i = 0; i < n_; ++i) {
      const double middle = cell_ * (static_cast<double>(i) + 0.5);
      const std::string& name = map_.names[tree_.order[i]];
      svg_.text(left_ + side_ + 6, kTop + middle, text_size(), name, kMiddle);
      svg_.vertical_text(left_ + middle, kTop + side_ + 6, text_size(), 90, name, kMiddle);
    }
  }

  /// Joins from the matrix to the left, as far as their distance goes.
  void draw_tree() {
    std::vector<double> xs(n_ + tree_.joins.size(), left_ - 3), ys(n_ + tree_.joins.size());
    for (std::size_t i = 0; i < n_; ++i) ys[tree_.order[i]] = kTop + cell_ * (static_cast<double>(i) + 0.5);
    double farthest = 0;
    for (const stats::Join& join : tree_.joins) farthest = std::max(farthest, join.distance);
    for (std::size_t i = 0; i < tree_.joins.size(); ++i) {
      const stats::Join& join = tree_.joins[i];
      const double reach = farthest > 0 ? join.distance / farthest : 0;
      const double x = left_ - 3 - (kTreeWidth - 6) * reach;
      xs[n_ + i] = x;
      ys[n_ + i] = (ys[join.left] + ys[join.right]) / 2;
      svg_.path(fmt::format("M{:.2f} {:.2f}H{:.2f}V{:.2f}H{:.2f}", xs[join.left], ys[join.left], x,
                            ys[join.right], xs[join.right]),
                "class=\"tree\"");
    }
  }

  const HeatMap& map_;
  std::size_t n_;
  double cell_, side_;
  stats::ClusterTree tree_;
  double left_, low_, high_;
  Svg svg_;
};

}  // namespace

std::string draw_heat_map(const HeatMap& map, Svg::Frame frame) { return MapDrawing(map, frame).draw(); }

}  // namespace warpmer::cli
