#pragma once
/// A page of HTML that needs nothing besides itself: no script, no font, no network. It is readable on a
/// telephone and on a large screen, in light and in dark.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/framework/text_output.h"

namespace warpmer::cli {

/// Rows of text under a header; a first cell heads its row, the others are numbers and stand at the right.
struct HtmlTable {
  std::string caption;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  bool is_text = false;  ///< cells are words, and stand at the left
};

/// Elements are written as they come; all text is escaped.
class HtmlPage {
 public:
  HtmlPage(TextOutput& output, std::string_view title);

  /// A heading of level 1 to 3; `anchor`, if not empty, is what links within the page lead to.
  void heading(int level, std::string_view text, std::string_view anchor = {});
  void paragraph(std::string_view text);
  /// Links within the page: pairs of anchor and text.
  void contents(const std::vector<std::pair<std::string, std::string>>& links);
  void table(const HtmlTable& table);
  /// A table that is folded away until somebody wants it.
  void folded(std::string_view summary, const HtmlTable& table);
  /// Figures between these two stand beside each other where there is room.
  void begin_figures();
  void end_figures();
  /// Calls `draw(output)`, which draws one within the page, and writes the caption below.
  template <class Draw>
  void figure(std::string_view caption, Draw&& draw) {
    output_.write("<figure>\n");
    draw(output_);
    end_figure(caption);
  }
  void finish();

 private:
  void end_figure(std::string_view caption);

  TextOutput& output_;
};

}  // namespace warpmer::cli
