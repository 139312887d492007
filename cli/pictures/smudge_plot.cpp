#include "cli/pictures/smudge_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "cli/pictures/chart.h"

namespace warpmer::cli {
namespace {

constexpr double kSmudgeLeft = 52, kSmudgeTop = 34, kSmudgeRight = 426, kSmudgeHeight = 330;
constexpr double kSmudgeWidth = 470, kSmudgeText = 12, kSmudgeLabel = 11;
constexpr std::size_t kColumns = 50, kMostRows = 100;
/// K-mers of more copies have no name.
constexpr unsigned kMostCopies = 8;

/// How many pairs there are in each of the picture's cells.
class SmudgeCells {
 public:
  SmudgeCells(const SmudgePlot& plot, double last_sum)
      : step_(static_cast<std::uint32_t>(std::ceil(last_sum / kMostRows))),
        rows_(static_cast<std::size_t>(std::ceil(last_sum / step_))),
        values_(rows_ * kColumns) {
    plot.for_each_pair([&](std::uint32_t smaller, std::uint32_t larger, std::uint64_t pairs) {
      add(smaller, smaller + larger, static_cast<double>(pairs));
    });
    for (const double value : values_) {
      if (value <= 0) continue;
      least_ = most_ == 0 ? value : std::min(least_, value);
      most_ = std::max(most_, value);
    }
  }

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::uint32_t step() const { return step_; }
  [[nodiscard]] double value(std::size_t row, std::size_t column) const {
    return values_[row * kColumns + column];
  }
  [[nodiscard]] double least() const { return least_; }
  [[nodiscard]] double most() const { return most_; }
  /// Returns the sum behind the last row.
  [[nodiscard]] double end() const { return static_cast<double>(rows_) * step_; }

 private:
  /// Counts are whole. So each stands for all that is rounded to it, or the picture would have stripes where
  /// a column has a fraction of small counts and the next one has none.
  void add(std::uint32_t smaller, std::uint32_t sum, double pairs) {
    const std::size_t row = sum / step_;
    if (row >= rows_) return;
    const double begin = std::max(0.0, (smaller - 0.5) / sum) * 2 * kColumns;
    const double end = std::min(0.5, (smaller + 0.5) / sum) * 2 * kColumns;
    for (auto column = static_cast<std::size_t>(begin); column < kColumns; ++column) {
      const auto left = static_cast<double>(column);
      if (left >= end) break;
      const double part = std::min(end, left + 1) - std::max(begin, left);
      values_[row * kColumns + column] += pairs * part / (end - begin);
    }
  }

  std::uint32_t step_;
  std::size_t rows_;
  std::vector<double> values_;
  double least_ = 0, most_ = 0;
};

/// Returns the largest sum to be seen: nearly all pairs, and all names of four copies, but not more than
/// those of kMostCopies.
double last_sum_of(const SmudgePlot& plot) {
  constexpr double kMost = 0.98, kLeastSums = 10;
  std::map<std::uint32_t, double> pairs_of;
  double all = 0, seen = 0, last = kLeastSums;
  plot.for_each_pair([&](std::uint32_t smaller, std::uint32_t larger, std::uint64_t pairs) {
    pairs_of[smaller + larger] += static_cast<double>(pairs);
    all += static_cast<double>(pairs);
  });
  for (const auto& [sum, pairs] : pairs_of) {
    if (seen >= kMost * all) break;
    seen += pairs;
    last = std::max(last, sum * 1.1);
  }
  if (plot.coverage) last = std::clamp(last, 4.6 * *plot.coverage, (kMostCopies + 0.6) * *plot.coverage);
  return std::ceil(std::max(last, kLeastSums));
}

class SmudgeDrawing {
 public:
  SmudgeDrawing(const SmudgePlot& plot, Svg::Frame frame)
      : plot_(plot),
        cells_(plot, last_sum_of(plot)),
        svg_(frame, kSmudgeWidth, kSmudgeTop + kSmudgeHeight + 70, plot.title) {}

  std::string draw() {
    svg_.text(8, 20, 14, shortened_text(plot_.title, 52), "class=\"ink\"");
    draw_smudge_cells();
    draw_smudge_axes();
    if (plot_.coverage) draw_names();
    draw_scale();
    return svg_.finish();
  }

 private:
  static double x_of(double share) { return kSmudgeLeft + (kSmudgeRight - kSmudgeLeft) * 2 * share; }
  [[nodiscard]] double y_of(double sum) const {
    return kSmudgeTop + kSmudgeHeight * (1 - sum / cells_.end());
  }
  /// Returns the opacity of a cell, whose logarithm it follows.
  [[nodiscard]] double shade_of(double value) const {
    constexpr double kPalest = 0.06;
    const double range = std::log(cells_.most() / cells_.least());
    return kPalest + (1 - kPalest) * (range > 0 ? std::log(value / cells_.least()) / range : 1);
  }

  void draw_smudge_cells() {
    const double height = kSmudgeHeight / static_cast<double>(cells_.rows());
    for (std::size_t row = 0; row < cells_.rows(); ++row) {
      const double bottom = y_of(static_cast<double>(row) * cells_.step());
      for (std::size_t column = 0; column < kColumns; ++column) {
        const double value = cells_.value(row, column);
        if (value <= 0) continue;
        const double left = x_of(0.5 * static_cast<double>(column) / kColumns);
        svg_.rect(left, bottom - height, (kSmudgeRight - kSmudgeLeft) / kColumns, height,
                  fmt::format("class=\"shade\" fill-opacity=\"{:.2f}\"", shade_of(value)));
      }
    }
  }

  void draw_smudge_axes() {
    const double bottom = kSmudgeTop + kSmudgeHeight;
    svg_.path(fmt::format("M{:.1f} {:.1f}V{:.1f}H{:.1f}", kSmudgeLeft, kSmudgeTop, bottom, kSmudgeRight),
              "class=\"axis\"");
    for (const double sum : ticks_between(0, cells_.end(), 6)) {
      svg_.path(fmt::format("M{:.1f} {:.1f}h-4", kSmudgeLeft, y_of(sum)), "class=\"axis\"");
      svg_.text(kSmudgeLeft - 6, y_of(sum) + 4, kSmudgeText, tick_text(sum),
                "class=\"faint\" text-anchor=\"end\"");
    }
    for (int tenth = 0; tenth <= 5; ++tenth) {
      svg_.path(fmt::format("M{:.1f} {:.1f}v4", x_of(0.1 * tenth), bottom), "class=\"axis\"");
      svg_.text(x_of(0.1 * tenth), bottom + 17, kSmudgeText, fmt::format("{:.1f}", 0.1 * tenth),
                "class=\"faint\" text-anchor=\"middle\"");
    }
    svg_.text((kSmudgeLeft + kSmudgeRight) / 2, bottom + 35, kSmudgeText, "smaller count / sum of both",
              "class=\"ink\" text-anchor=\"middle\"");
    svg_.vertical_text(12, kSmudgeTop + kSmudgeHeight / 2, kSmudgeText, -90, "sum of both counts",
                       "class=\"ink\" text-anchor=\"middle\"");
  }

  /// Lines at whole numbers of copies, and a name where pairs of so many copies of either k-mer are.
  void draw_names() {
    for (unsigned copies = 2; copies <= kMostCopies; ++copies) {
      const double y = y_of(copies * *plot_.coverage);
      if (y < kSmudgeTop + 6) break;
      svg_.path(fmt::format("M{:.1f} {:.1f}H{:.1f}", kSmudgeLeft, y, kSmudgeRight), "class=\"mark\"");
      svg_.text(kSmudgeRight + 6, y + 4, kSmudgeText, fmt::format("{}n", copies), "class=\"faint\"");
      for (unsigned fewer = 1; fewer <= copies / 2; ++fewer)
        draw_name(std::string(copies - fewer, 'A') + std::string(fewer, 'B'), double(fewer) / copies, y);
    }
  }
  void draw_name(const std::string& name, double share, double y) {
    const double width = text_width(name, kSmudgeLabel) + 4;
    // Within the picture also at its right side, where pairs of equal counts are.
    const double left = std::min(x_of(share) - width / 2, kSmudgeRight - width - 2);
    svg_.rect(left, y - 15, width, 13, "class=\"paper\" fill-opacity=\".8\"");
    svg_.text(left + width / 2, y - 5, kSmudgeLabel, name, "class=\"ink\" text-anchor=\"middle\"");
  }

  void draw_scale() {
    const double y = kSmudgeTop + kSmudgeHeight + 48;
    std::string words = "no pairs";
    if (cells_.most() > 0) {
      constexpr int kShades = 10;
      for (int i = 0; i < kShades; ++i) {
        const double value = cells_.least() * std::pow(cells_.most() / cells_.least(), (i + 0.5) / kShades);
        svg_.rect(kSmudgeLeft + 9 * i, y, 9, 10,
                  fmt::format("class=\"shade\" fill-opacity=\"{:.2f}\"", shade_of(value)));
      }
      words = fmt::format("{:.2g} to {} pairs", cells_.least(), tick_text(std::round(cells_.most())));
    }
    words += plot_.coverage ? fmt::format("; 1n = {:.4g}", *plot_.coverage)
                            : "; no clear spectrum, so no estimate of 1n";
    svg_.text(kSmudgeLeft + (cells_.most() > 0 ? 96 : 0), y + 9.5, kSmudgeText, words, "class=\"ink\"");
  }

  const SmudgePlot& plot_;
  SmudgeCells cells_;
  Svg svg_;
};

}  // namespace

std::string draw_smudges(const SmudgePlot& plot, Svg::Frame frame) {
  return SmudgeDrawing(plot, frame).draw();
}

}  // namespace warpmer::cli
