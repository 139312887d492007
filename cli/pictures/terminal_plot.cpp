#include "cli/pictures/terminal_plot.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "cli/framework/printable.h"

namespace warpmer::cli {
namespace {

constexpr unsigned kRows = 16;
constexpr unsigned kLabelColumns = 6;  ///< of the numbers at the left, before the axis
constexpr unsigned kLeastWidth = 40, kMostWidth = 300;

/// The characters that it is drawn with.
struct Glyphs {
  std::array<std::string_view, 9> parts;  ///< of a cell that is full to so many eighths
  std::string_view point, beyond, side, corner, bottom, tick;
};

constexpr Glyphs kBlocks = {{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}, "•", "↑", "│", "└", "─", "┬"};
constexpr Glyphs kLetters = {{" ", " ", "_", "_", "_", "#", "#", "#", "#"}, "*", "^", "|", "+", "-", "+"};

bool is_utf8_locale() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string locale(value);
    std::transform(locale.begin(), locale.end(), locale.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c; });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

class TerminalDrawing {
 public:
  TerminalDrawing(const Chart& chart, const TerminalStyle& style, TextOutput& output)
      : chart_(chart),
        glyphs_(style.is_utf8 ? kBlocks : kLetters),
        width_(style.width),
        bin_columns_(std::max<unsigned>(1, columns_of(style) / static_cast<unsigned>(chart.bins))),
        output_(output) {}

  void draw() {
    output_.print("{}\n", printable(chart_.title));
    const std::vector<std::string> labels = row_labels();
    for (unsigned row = kRows; row-- > 0;) print_row(row, labels[row]);
    print_axis();
    print_key();
  }

 private:
  [[nodiscard]] std::vector<std::string> row_labels() const {
    std::vector<std::string> labels(kRows);
    for (const double value : height_ticks(chart_)) {
      const auto row = static_cast<unsigned>(std::ceil(chart_.height_of(value) * kRows));
      if (row >= 1 && row <= kRows) labels[row - 1] = tick_text(value);
    }
    return labels;
  }

  /// Returns the eighths of a row's cell that a value fills.
  [[nodiscard]] unsigned eighths(double value, unsigned row) const {
    const double height = std::clamp(chart_.height_of(value), 0.0, 1.0) * kRows * 8;
    double least = std::round(height);
    if (value > 0 && height > 0) least = std::max(least, 1.0);  // a few are not none
    return static_cast<unsigned>(std::clamp(least - 8.0 * row, 0.0, 8.0));
  }
  [[nodiscard]] bool has_point(std::size_t bin, unsigned row) const {
    if (chart_.series.size() < 2) return false;
    const double height = chart_.height_of(chart_.series[1].values[bin]);
    return height > 0.5 / kRows / 8 && height <= 1 &&
           static_cast<unsigned>(std::ceil(height * kRows)) == row + 1;
  }
  [[nodiscard]] std::string_view cell(std::size_t bin, unsigned row) const {
    if (has_point(bin, row)) return glyphs_.point;
    const double value = chart_.series.front().values[bin];
    if (row + 1 == kRows && chart_.height_of(value) > 1) return glyphs_.beyond;
    return glyphs_.parts[eighths(value, row)];
  }

  /// Prints a line without the blanks at its end.
  void print_line(std::string line) {
    line.resize(line.find_last_not_of(' ') + 1);
    output_.print("{}\n", line);
  }

  void print_row(unsigned row, const std::string& label) {
    std::string line = fmt::format("{:>{}} {}", label, kLabelColumns, glyphs_.side);
    for (std::size_t bin = 0; bin < chart_.bins; ++bin) {
      for (unsigned i = 0; i < bin_columns_; ++i) line += cell(bin, row);
    }
    print_line(line);
  }

  void print_axis() {
    const std::size_t columns = chart_.bins * bin_columns_;
    std::string labels(kLabelColumns + 2, ' ');
    std::vector<bool> is_tick(columns);
    const unsigned wanted = std::max(1u, static_cast<unsigned>(columns / 7));
    for (const double count :
         ticks_between(static_cast<double>(chart_.first), static_cast<double>(chart_.end()), wanted)) {
      const auto bin = (static_cast<std::size_t>(count) - chart_.first) / chart_.step;
      const std::size_t column = bin * bin_columns_ + bin_columns_ / 2;
      const std::string text = tick_text(count);
      const std::size_t at = kLabelColumns + 2 + column - std::min(column, text.size() / 2);
      if (labels.size() > kLabelColumns + 2 && labels.size() >= at) continue;
      is_tick[column] = true;
      labels.resize(at, ' ');
      labels += text;
    }
    std::string line = fmt::format("{:>{}} {}", chart_.is_log ? "" : "0", kLabelColumns, glyphs_.corner);
    for (const bool is : is_tick) line += is ? glyphs_.tick : glyphs_.bottom;
    print_line(line);
    print_line(labels);
  }

  /// Prints what things are, in as many lines as they need.
  void print_key() {
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < std::min<std::size_t>(chart_.series.size(), 2); ++i)
      keys.push_back(fmt::format("{} {}", i == 0 ? glyphs_.parts[8] : glyphs_.point, chart_.series[i].name));
    for (const ChartMark& mark : chart_.marks) keys.push_back(mark.text);
    const std::string indent(kLabelColumns + 2, ' ');
    std::string line = indent;
    for (const std::string& key : keys) {
      if (line.size() > indent.size() && line.size() + key.size() > width_) {
        print_line(line);
        line = indent;
      }
      line += key + "   ";
    }
    print_line(line);
  }

  const Chart& chart_;
  const Glyphs& glyphs_;
  const unsigned width_;
  const unsigned bin_columns_;
  TextOutput& output_;
};

}  // namespace

TerminalStyle terminal_style(const std::string& output) {
  TerminalStyle style;
  style.is_utf8 = is_utf8_locale();
  struct winsize size {};
  if (output == "-" && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.width = std::clamp<unsigned>(size.ws_col, kLeastWidth, kMostWidth);
  return style;
}

unsigned columns_of(const TerminalStyle& style) { return style.width - kLabelColumns - 2; }

void print_chart(const Chart& chart, const TerminalStyle& style, TextOutput& output) {
  TerminalDrawing(chart, style, output).draw();
}

}  // namespace warpmer::cli
