#pragma once
/// Charts as text.

#include <string>

#include "cli/framework/text_output.h"
#include "cli/pictures/chart.h"

namespace warpmer::cli {

/// The terminal, or file, that a chart is printed to.
struct TerminalStyle {
  unsigned width = 80;   ///< columns
  bool is_utf8 = false;  ///< else all is ASCII
};

/// Returns the style that suits an output: as wide as the terminal, if it is one. The locale says whether
/// there is more than ASCII.
TerminalStyle terminal_style(const std::string& output);

/// Returns how many bins there is room for.
unsigned columns_of(const TerminalStyle& style);

/// Prints the first series as bars, and the second as points.
void print_chart(const Chart& chart, const TerminalStyle& style, TextOutput& output);

}  // namespace warpmer::cli
