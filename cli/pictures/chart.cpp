#include "cli/pictures/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace warpmer::cli {
namespace {

/// Sides in units of the picture; text is large enough where the picture is as wide as a telephone.
constexpr double kWidth = 440, kPlotHeight = 210;
constexpr double kPlotLeft = 52, kPlotTop = 34, kPlotRight = kWidth - 14;
constexpr double kHeading = 14, kLabel = 12;
constexpr double kKeyRow = 18, kKeySide = 10;
constexpr double kLeastColumn = 4;
constexpr std::size_t kLongestKey = 50;
/// Below one k-mer, so that one is to be seen.
constexpr double kLogBottom = 0.5;

class ChartDrawing {
 public:
  ChartDrawing(const Chart& chart, Svg::Frame frame)
      : chart_(chart),
        keys_(place_keys(chart)),
        svg_(frame, kWidth, kPlotTop + kPlotHeight + 48 + kKeyRow * keys_.back().row, chart.title) {}

  std::string draw() {
    const auto most = static_cast<std::size_t>((kWidth - 16) / text_width(1, kHeading));
    svg_.text(8, 20, kHeading, shortened_text(chart_.title, most), "class=\"ink\"");
    draw_axes();
    for (const ChartSeries& series : chart_.series) draw_series(series);
    draw_columns();
    draw_marks();
    draw_keys();
    return svg_.finish();
  }

 private:
  struct Key {
    std::string name;
    std::string_view fill;
    bool is_line = false;
    double x = 0;
    int row = 1;
  };

  [[nodiscard]] double x_of(double count) const {
    const auto begin = static_cast<double>(chart_.first), end = static_cast<double>(chart_.end());
    return kPlotLeft + (kPlotRight - kPlotLeft) * (count - begin) / (end - begin);
  }
  [[nodiscard]] double y_of(double value) const {
    return kPlotTop + kPlotHeight * (1 - std::clamp(chart_.height_of(value), 0.0, 1.0));
  }
  /// Counts are whole: their places are the middles of their bins.
  [[nodiscard]] double middle_of(std::size_t bin) const {
    return static_cast<double>(chart_.begin_of(bin)) + static_cast<double>(chart_.step) / 2;
  }

  void draw_axes() {
    for (const double value : height_ticks(chart_)) {
      const double y = y_of(value);
      svg_.path(fmt::format("M{:.1f} {:.1f}H{:.1f}", kPlotLeft, y, kPlotRight), "class=\"grid\"");
      svg_.text(kPlotLeft - 5, y + 4, kLabel, tick_text(value), "class=\"faint\" text-anchor=\"end\"");
    }
    const double bottom = kPlotTop + kPlotHeight;
    svg_.path(fmt::format("M{:.1f} {:.1f}H{:.1f}", kPlotLeft, bottom, kPlotRight), "class=\"axis\"");
    for (const double count :
         ticks_between(static_cast<double>(chart_.first), static_cast<double>(chart_.end()), 8)) {
      const double x = x_of(count + (chart_.step == 1 ? 0.5 : 0));
      svg_.path(fmt::format("M{:.1f} {:.1f}v4", x, bottom), "class=\"axis\"");
      svg_.text(x, bottom + 17, kLabel, tick_text(count), "class=\"faint\" text-anchor=\"middle\"");
    }
    svg_.text((kPlotLeft + kPlotRight) / 2, bottom + 33, kLabel,
              chart_.columns.empty() ? "count of a k-mer" : "count of a k-mer; 0: not in the reads",
              "class=\"ink\" text-anchor=\"middle\"");
    svg_.vertical_text(12, kPlotTop + kPlotHeight / 2, kLabel, -90, "distinct k-mers",
                       "class=\"ink\" text-anchor=\"middle\"");
  }

  /// Returns the steps of the upper side.
  [[nodiscard]] std::string outline(const ChartSeries& series) const {
    std::string steps;
    for (std::size_t i = 0; i < chart_.bins; ++i) {
      const double y = y_of(series.values[i]);
      if (series.style == SeriesStyle::bars) {
        const auto begin = static_cast<double>(chart_.begin_of(i));
        fmt::format_to(std::back_inserter(steps), "{}{:.1f} {:.1f}H{:.1f}", i == 0 ? 'M' : 'L', x_of(begin),
                       y, x_of(begin + static_cast<double>(chart_.step)));
      } else {
        fmt::format_to(std::back_inserter(steps), "{}{:.1f} {:.1f}", i == 0 ? 'M' : 'L', x_of(middle_of(i)),
                       y);
      }
    }
    return steps;
  }

  void draw_series(const ChartSeries& series) {
    const std::string steps = outline(series);
    const double bottom = kPlotTop + kPlotHeight;
    if (series.style != SeriesStyle::line) {
      const bool is_bars = series.style == SeriesStyle::bars;
      const double first = is_bars ? kPlotLeft : x_of(middle_of(0));
      const double last = is_bars ? kPlotRight : x_of(middle_of(chart_.bins - 1));
      svg_.path(fmt::format("{}L{:.1f} {:.1f}H{:.1f}Z", steps, last, bottom, first),
                fmt::format("class=\"{}\"{}", series.fill,
                            series.style == SeriesStyle::area ? " fill-opacity=\".25\"" : ""));
    }
    if (series.style == SeriesStyle::area || series.style == SeriesStyle::line)
      svg_.path(steps, fmt::format("class=\"{}\"", series.line));
  }

  void draw_columns() {
    const double width = std::max(kLeastColumn, x_of(static_cast<double>(chart_.first + 1)) - kPlotLeft);
    double sum = 0;
    for (const ChartColumn& column : chart_.columns) {
      const double bottom = y_of(sum), top = y_of(sum += column.value);
      svg_.rect(kPlotLeft, top, width, bottom - top, fmt::format("class=\"{}\"", column.fill));
    }
  }

  void draw_marks() {
    double free_from = 0;
    int row = 0;
    for (const ChartMark& mark : chart_.marks) {
      const double x = x_of(mark.count + 0.5);
      if (x < kPlotLeft || x > kPlotRight) continue;
      svg_.path(fmt::format("M{:.1f} {:.1f}V{:.1f}", x, kPlotTop, kPlotTop + kPlotHeight), "class=\"mark\"");
      const double width = text_width(mark.text, kLabel - 1);
      const bool is_left = x + 4 + width > kPlotRight;
      row = (is_left ? x - width : x) < free_from ? row + 1 : 0;
      svg_.text(is_left ? x - 4 : x + 4, kPlotTop + 11 + 14 * row, kLabel - 1, mark.text,
                is_left ? "class=\"faint\" text-anchor=\"end\"" : "class=\"faint\"");
      free_from = x + (is_left ? 4 : width + 8);
    }
  }

  /// Returns the names of series below the chart, with their places, in rows.
  [[nodiscard]] static std::vector<Key> place_keys(const Chart& chart) {
    std::vector<Key> keys;
    for (const ChartSeries& series : chart.series)
      keys.push_back({series.name, series.fill, series.style == SeriesStyle::line});
    double x = kPlotLeft;
    int row = 1;
    for (Key& key : keys) {
      key.name = shortened_text(key.name, kLongestKey);
      const double width = kKeySide + 5 + text_width(key.name, kLabel) + 10;
      if (x > kPlotLeft && x + width > kWidth) {
        x = kPlotLeft;
        ++row;
      }
      key.x = x;
      key.row = row;
      x += width;
    }
    return keys;
  }
  void draw_keys() {
    for (const Key& key : keys_) {
      const double y = kPlotTop + kPlotHeight + 38 + kKeyRow * (key.row - 1);
      svg_.rect(key.x, key.is_line ? y + 3 : y, kKeySide, key.is_line ? 3 : kKeySide,
                fmt::format("class=\"{}\"", key.fill));
      svg_.text(key.x + kKeySide + 5, y + kKeySide - 0.5, kLabel, key.name, "class=\"ink\"");
    }
  }

  const Chart& chart_;
  std::vector<Key> keys_;
  Svg svg_;
};

}  // namespace

double Chart::height_of(double value) const {
  if (!is_log) return value / top;
  return value <= kLogBottom ? 0 : std::log(value / kLogBottom) / std::log(top / kLogBottom);
}

std::vector<double> ticks_between(double low, double high, unsigned wanted) {
  const double rough = (high - low) / std::max(1u, wanted);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double round : {1, 2, 5}) {
    if (round * power < rough) continue;
    step = round * power;
    break;
  }
  step = std::max(step, 1.0);
  std::vector<double> ticks;
  for (double tick = std::ceil(low / step) * step; tick < high; tick += step) ticks.push_back(tick);
  return ticks;
}

std::vector<double> height_ticks(const Chart& chart) {
  constexpr unsigned kWanted = 5;
  if (!chart.is_log) return ticks_between(0, chart.top * 1.001, kWanted);
  const double decades = std::log10(chart.top);
  const double step = std::max(1.0, std::ceil(decades / kWanted));
  std::vector<double> ticks;
  for (double power = 0; power <= decades; power += step) ticks.push_back(std::pow(10, power));
  return ticks;
}

std::string tick_text(double value) {
  constexpr std::string_view kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t prefix = 0;
  for (; value >= 1000 && prefix + 1 < std::size(kPrefixes); ++prefix) value /= 1000;
  return fmt::format("{:.4g}{}", value, kPrefixes[prefix]);
}

std::string draw_chart(const Chart& chart, Svg::Frame frame) { return ChartDrawing(chart, frame).draw(); }

}  // namespace warpmer::cli
