#include "cli/pictures/svg.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/framework/printable.h"

namespace warpmer::cli {
namespace {

struct PicturePaint {
  std::string_view name;
  std::string_view rule;  ///< with a colour in it
  std::string_view light, dark;
};

constexpr PicturePaint kPaints[] = {
    {"paper", "fill:{}", "#ffffff", "#161b22"},
    {"ink", "fill:{}", "#1f2328", "#e6edf3"},
    {"faint", "fill:{}", "#57606a", "#9198a1"},
    {"axis", "fill:none;stroke:{}", "#57606a", "#9198a1"},
    {"grid", "fill:none;stroke:{};stroke-width:.6", "#d8dee4", "#30363d"},
    {"mark", "fill:none;stroke:{};stroke-dasharray:4 3", "#8c959f", "#7d8590"},
    {"tree", "fill:none;stroke:{}", "#444444", "#9198a1"},
    {"curve", "fill:none;stroke:{};stroke-width:2", "#d55e00", "#ff8c42"},
    {"curve-key", "fill:{}", "#d55e00", "#ff8c42"},
    {"fill0", "fill:{}", "#8c959f", "#7d8590"},
    {"fill1", "fill:{}", "#56a0d3", "#4a90c4"},
    {"fill2", "fill:{}", "#d55e00", "#ff8c42"},
    {"fill3", "fill:{}", "#009e73", "#2bc596"},
    {"fill4", "fill:{}", "#cc79a7", "#e39cc4"},
    {"fill5", "fill:{}", "#e69f00", "#f2b92f"},
    {"shade", "fill:{};shape-rendering:crispEdges", "#08306b", "#9ecbff"},
    {"line0", "fill:none;stroke:{};stroke-width:1.6", "#57606a", "#9198a1"},
    {"line1", "fill:none;stroke:{};stroke-width:1.6", "#0072b2", "#56b4e9"},
    {"line2", "fill:none;stroke:{};stroke-width:1.6", "#d55e00", "#ff8c42"},
    {"line3", "fill:none;stroke:{};stroke-width:1.6", "#009e73", "#2bc596"},
    {"line4", "fill:none;stroke:{};stroke-width:1.6", "#cc79a7", "#e39cc4"},
    {"line5", "fill:none;stroke:{};stroke-width:1.6", "#e69f00", "#f2b92f"},
};

std::string style_of(std::string_view PicturePaint::*colour) {
  std::string style;
  for (const PicturePaint& paint : kPaints) {
    const std::size_t at = paint.rule.find("{}");
    style += fmt::format(".{}{{{}{}{}}}", paint.name, paint.rule.substr(0, at), paint.*colour,
                         paint.rule.substr(at + 2));
  }
  return style;
}

/// True for a byte of UTF-8 that is none of a character's further ones.
bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

std::size_t characters_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

/// XML has no place for the two numbers that are no characters, which UTF-8 can have.
void replace_noncharacters(std::string& text) {
  for (const std::string_view bad : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {
    for (std::size_t at = 0; (at = text.find(bad, at)) != std::string::npos;)
      text.replace(at, 3, "\xef\xbf\xbd");
  }
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  replace_noncharacters(out);
  return out;
}

double text_width(std::size_t characters, double size) {
  return 0.62 * size * static_cast<double>(characters);
}
double text_width(std::string_view text, double size) { return text_width(characters_of(text), size); }

std::string shortened_text(std::string_view text, std::size_t most) {
  constexpr std::string_view kDots = "...";
  std::string shown = printable(text);
  if (characters_of(shown) <= most) return shown;
  std::size_t end = 0;
  for (std::size_t left = most - std::min(most, kDots.size()); end < shown.size(); ++end) {
    if (begins_character(shown[end]) && left-- == 0) break;
  }
  return shown.substr(0, end).append(kDots);
}

std::string light_style() { return style_of(&PicturePaint::light); }
std::string dark_style() { return style_of(&PicturePaint::dark); }

Svg::Svg(Frame frame, double width, double height, std::string_view title) {
  const bool is_file = frame == Frame::file;
  constexpr double kMostEnlarged = 1.4;  // so that text of small pictures gets no larger than that around it
  const std::string size = is_file ? fmt::format(" width=\"{:.0f}\" height=\"{:.0f}\"", width, height)
                                   : fmt::format(" style=\"max-width:{:.0f}px\"", kMostEnlarged * width);
  print(
      "<svg xmlns=\"http://www.w3.org/2000/svg\"{} viewBox=\"0 0 {:.0f} {:.0f}\" font-family=\"sans-serif\" "
      "role=\"img\" aria-label=\"{}\">\n",
      size, width, height, xml_text(title));
  if (!is_file) return;
  print("<style>{}</style>\n<rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n", light_style());
}

void Svg::end_element(std::string_view name, std::string_view tooltip) {
  if (tooltip.empty()) {
    out_ += "/>\n";
  } else {
    print("><title>{}</title></{}>\n", xml_text(tooltip), name);
  }
}

void Svg::rect(double x, double y, double width, double height, std::string_view attributes,
               std::string_view tooltip) {
  print("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" {}", x, y, width, height,
        attributes);
  end_element("rect", tooltip);
}

void Svg::circle(double x, double y, double radius, std::string_view attributes, std::string_view tooltip) {
  print("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:.2f}\" {}", x, y, radius, attributes);
  end_element("circle", tooltip);
}

void Svg::text(double x, double y, double size, std::string_view text, std::string_view attributes) {
  print("<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"{:.1f}\" {}>{}</text>\n", x, y, size, attributes,
        xml_text(text));
}

void Svg::vertical_text(double x, double y, double size, int degrees, std::string_view text,
                        std::string_view attributes) {
  print("<text transform=\"translate({:.2f} {:.2f}) rotate({})\" font-size=\"{:.1f}\" {}>{}</text>\n", x, y,
        degrees, size, attributes, xml_text(text));
}

void Svg::path(std::string_view steps, std::string_view attributes) {
  print("<path d=\"{}\" {}/>\n", steps, attributes);
}

std::string Svg::finish() {
  out_ += "</svg>\n";
  return std::move(out_);
}

}  // namespace warpmer::cli
