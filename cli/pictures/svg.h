#pragma once
/// Pictures as SVG, in a file of their own or within a page of HTML. All pictures are drawn through this.

#include <string>
#include <string_view>

#include "cli/framework/text_output.h"

namespace warpmer::cli {

/// Returns text for XML and HTML, in elements and in attributes: visible, and with nothing of markup left.
std::string xml_text(std::string_view text);

/// Returns about the width of a text in a font without serifs.
double text_width(std::size_t characters, double size);

/// Returns the rules of style for all paints, by which elements are coloured: `paper`, `ink` (text), `faint`
/// (text that matters less), `axis`, `grid`, `mark`, `curve`, and fills and lines of series, `fill0` to
/// `fill5` and `line0` to `line5`. Files have the light ones. Colours of series can be told apart by the
/// colour-blind (Okabe, Ito 2008).
std::string light_style();
std::string dark_style();

/// One picture. Elements are written as they come; `attributes` are `name="value"` with nothing to escape.
class Svg {
 public:
  enum class Frame {
    file,  ///< with a background and its own style
    page,  ///< within HTML, as wide as there is room
  };

  Svg(TextOutput& output, Frame frame, double width, double height, std::string_view title);

  /// `tooltip` is none where it is empty.
  void rect(double x, double y, double width, double height, std::string_view attributes,
            std::string_view tooltip = {});
  void text(double x, double y, double size, std::string_view text, std::string_view attributes);
  /// Text that runs down from a point, or up to it.
  void vertical_text(double x, double y, double size, int degrees, std::string_view text,
                     std::string_view attributes);
  void path(std::string_view steps, std::string_view attributes);
  /// Ends the picture.
  void finish();

 private:
  TextOutput& output_;
};

}  // namespace warpmer::cli
