#pragma once
/// Pictures as SVG, in a file of their own or within a page of HTML. All pictures are drawn through this.

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace warpmer::cli {

/// Returns text for XML and HTML, in elements and in attributes: visible, and with nothing of markup left.
std::string xml_text(std::string_view text);

/// Returns about the width of a text in a font without serifs.
double text_width(std::size_t characters, double size);
double text_width(std::string_view text, double size);

/// Returns a text as pictures show it, with dots instead of what is beyond `most` characters.
std::string shortened_text(std::string_view text, std::size_t most);

/// Returns the rules of style for all paints, by which elements are coloured: `paper`, `ink` (text), `faint`
/// (text that matters less), `axis`, `grid`, `mark`, `curve`, `shade` (of densities), and fills and lines of
/// series, `fill0` to `fill5` and `line0` to `line5`. Files have the light ones. Colours of series can be
/// told apart by the colour-blind (Okabe, Ito 2008).
std::string light_style();
std::string dark_style();

/// The paints of series, by their number.
inline constexpr std::string_view kFills[] = {"fill0", "fill1", "fill2", "fill3", "fill4", "fill5"};
inline constexpr std::string_view kLines[] = {"line0", "line1", "line2", "line3", "line4", "line5"};

/// One picture as text. Elements stand in it as they come, later ones over those before; `attributes` are
/// `name="value"` with nothing to escape.
class Svg {
 public:
  enum class Frame {
    file,  ///< with a background and its own style
    page,  ///< within HTML, as wide as there is room
  };

  Svg(Frame frame, double width, double height, std::string_view title);

  /// `tooltip` is none where it is empty.
  void rect(double x, double y, double width, double height, std::string_view attributes,
            std::string_view tooltip = {});
  void circle(double x, double y, double radius, std::string_view attributes, std::string_view tooltip);
  void text(double x, double y, double size, std::string_view text, std::string_view attributes);
  /// Text that runs down from a point, or up to it.
  void vertical_text(double x, double y, double size, int degrees, std::string_view text,
                     std::string_view attributes);
  void path(std::string_view steps, std::string_view attributes);
  /// Ends the picture and returns it.
  [[nodiscard]] std::string finish();

 private:
  template <typename... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  void end_element(std::string_view name, std::string_view tooltip);

  std::string out_;
};

}  // namespace warpmer::cli
