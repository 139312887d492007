#include "cli/output/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "stats/average_linkage.h"

namespace warpmer::cli {
namespace {

constexpr double kMostSide = 900;  ///< side of the matrix, unless cells would get too small to see
constexpr double kLargestCell = 28, kSmallestCell = 2;
constexpr double kLeastTextSize = 6, kMostTextSize = 12;
constexpr double kMargin = 16, kTreeWidth = 90, kTop = 56;
constexpr double kTitleSize = 14, kScaleTextSize = 10;
constexpr int kSteps = 20, kStepWidth = 6;  ///< steps of the scale

/// About, for most fonts without serifs.
double text_width(std::size_t characters, double size) {
  return 0.62 * size * static_cast<double>(characters);
}

std::string scale_text(double number) { return fmt::format("{:.4g}", number); }

/// Text in XML; what is no UTF-8 becomes question marks.
std::string xml_text(const std::string& text) {
  bool is_utf8 = true;
  try {
    (void)nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    is_utf8 = false;
  }
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else {
      out += byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !is_utf8) ? '?' : c;
    }
  }
  return out;
}

/// From nearly white to dark blue.
std::string color_of(double part) {
  const auto mix = [part](double light, double dark) {
    return static_cast<int>(std::lround(light + (dark - light) * part));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(247, 8), mix(251, 48), mix(255, 107));
}

class Drawing {
 public:
  Drawing(const HeatMap& map, TextOutput& output)
      : map_(map),
        output_(output),
        n_(map.names.size()),
        cell_(std::clamp(kMostSide / static_cast<double>(n_), kSmallestCell, kLargestCell)),
        side_(cell_ * static_cast<double>(n_)),
        tree_(stats::cluster_by_average_linkage(map.distances, n_)),
        left_(kMargin + kTreeWidth) {
    const auto [low, high] = std::minmax_element(map.values.begin(), map.values.end());
    low_ = *low;
    high_ = *high;
  }

  void draw() {
    std::size_t longest = 0;
    for (const std::string& name : map_.names) longest = std::max(longest, name.size());
    const double names_width = has_names() ? text_width(longest, text_size()) + 12 : 0;
    const double width = std::max({left_ + side_ + names_width,
                                   scale_end() + text_width(scale_text(high_).size(), kScaleTextSize),
                                   kMargin + text_width(map_.title.size(), kTitleSize)});
    output_.print(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 "
        "{0:.0f} "
        "{1:.0f}\" font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        width + kMargin, kTop + side_ + names_width + kMargin);
    output_.print("<text x=\"{}\" y=\"22\" font-size=\"{}\">{}</text>\n", kMargin, kTitleSize,
                  xml_text(map_.title));
    draw_scale();
    draw_cells();
    if (has_names()) draw_names();
    draw_tree();
    output_.write("</svg>\n");
  }

 private:
  [[nodiscard]] double text_size() const { return std::min(kMostTextSize, cell_ * 0.8); }
  /// Returns the position at which the label of the largest value begins.
  [[nodiscard]] double scale_end() const { return left_ + kStepWidth * kSteps + 5; }
  [[nodiscard]] bool has_names() const { return text_size() >= kLeastTextSize; }
  [[nodiscard]] double part_of(double value) const {
    return high_ > low_ ? (value - low_) / (high_ - low_) : 1;
  }

  void draw_scale() {
    for (int i = 0; i < kSteps; ++i) {
      output_.print("<rect x=\"{}\" y=\"32\" width=\"{}\" height=\"10\" fill=\"{}\"/>\n",
                    left_ + kStepWidth * i, kStepWidth, color_of((i + 0.5) / kSteps));
    }
    output_.print("<text x=\"{}\" y=\"41\" font-size=\"{}\" text-anchor=\"end\">{}</text>\n", left_ - 5,
                  kScaleTextSize, scale_text(low_));
    output_.print("<text x=\"{}\" y=\"41\" font-size=\"{}\">{}</text>\n", scale_end(), kScaleTextSize,
                  scale_text(high_));
  }

  void draw_cells() {
    for (std::size_t row = 0; row < n_; ++row) {
      for (std::size_t column = 0; column < n_; ++column) {
        const std::size_t a = tree_.order[row], b = tree_.order[column];
        const double value = map_.values[a * n_ + b];
        output_.print(
            "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"><title>{}, {}: "
            "{:.6g}"
            "</title></rect>\n",
            left_ + cell_ * static_cast<double>(column), kTop + cell_ * static_cast<double>(row), cell_,
            cell_, color_of(part_of(value)), xml_text(map_.names[a]), xml_text(map_.names[b]), value);
      }
    }
  }

  void draw_names() {
    for (std::size_t i = 0; i < n_; ++i) {
      const double middle = cell_ * (static_cast<double>(i) + 0.5);
      const std::string name = xml_text(map_.names[tree_.order[i]]);
      output_.print(
          "<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"{:.1f}\" dominant-baseline=\"central\">{}</text>\n",
          left_ + side_ + 6, kTop + middle, text_size(), name);
      output_.print(
          "<text transform=\"translate({:.2f} {:.2f}) rotate(90)\" font-size=\"{:.1f}\" "
          "dominant-baseline=\"central\">{}</text>\n",
          left_ + middle, kTop + side_ + 6, text_size(), name);
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
      output_.print("<path d=\"M{:.2f} {:.2f}H{:.2f}V{:.2f}H{:.2f}\" fill=\"none\" stroke=\"#444\"/>\n",
                    xs[join.left], ys[join.left], x, ys[join.right], xs[join.right]);
    }
  }

  const HeatMap& map_;
  TextOutput& output_;
  std::size_t n_;
  double cell_, side_;
  stats::ClusterTree tree_;
  double left_;
  double low_ = 0, high_ = 0;
};

}  // namespace

void write_heat_map(const HeatMap& map, TextOutput& output) { Drawing(map, output).draw(); }

}  // namespace warpmer::cli
