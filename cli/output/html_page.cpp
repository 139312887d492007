#include "cli/output/html_page.h"

#include <fmt/format.h>

#include <utility>

#include "cli/pictures/svg.h"

namespace warpmer::cli {
namespace {

constexpr std::string_view kPageStyle =
    R"(:root{color-scheme:light dark;--paper:#fff;--ink:#1f2328;--faint:#57606a;--line:#d0d7de;--card:#f6f8fa;--link:#0550ae}
@media(prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--faint:#9198a1;--line:#30363d;--card:#161b22;--link:#79b8ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:1160px;margin:0 auto;padding:16px}
h1{font-size:1.6rem;margin:.4em 0}h2{font-size:1.3rem;margin:2em 0 .5em;border-bottom:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.6em 0 .4em}
h1,h2,h3,p,li,figcaption,.words td,tbody th{overflow-wrap:anywhere}
a{color:var(--link)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,340px),1fr));gap:16px}
figure{margin:0;padding:8px;background:var(--card);border:1px solid var(--line);border-radius:6px;max-width:620px}
svg{display:block;width:100%;height:auto;margin:0 auto}
figcaption{color:var(--faint);font-size:.875rem;margin-top:4px}
.scroll{overflow-x:auto;margin:.6em 0}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--faint);padding-bottom:4px}
th,td{padding:3px 12px 3px 0;border-bottom:1px solid var(--line);text-align:right;vertical-align:top}
td{white-space:nowrap}th:first-child,.words td{text-align:left}.words td{white-space:normal}th{font-weight:600}tbody th{font-weight:400;min-width:7em}
summary{cursor:pointer;color:var(--link);margin:.6em 0}
)";

}  // namespace

HtmlPage::HtmlPage(TextOutput& output, std::string_view title) : output_(output) {
  output_.print(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light "
      "dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>\n{}{}\n"
      "@media(prefers-color-scheme:dark){{{}}}\n</style>\n</head>\n<body>\n<main>\n",
      xml_text(title), kPageStyle, light_style(), dark_style());
}

void HtmlPage::heading(int level, std::string_view text, std::string_view anchor) {
  const std::string id = anchor.empty() ? "" : fmt::format(" id=\"{}\"", anchor);
  output_.print("<h{0}{1}>{2}</h{0}>\n", level, id, xml_text(text));
}

void HtmlPage::paragraph(std::string_view text) { output_.print("<p>{}</p>\n", xml_text(text)); }

void HtmlPage::contents(const std::vector<std::pair<std::string, std::string>>& links) {
  output_.write("<nav aria-label=\"Contents\">\n<ul>\n");
  for (const auto& [anchor, text] : links)
    output_.print("<li><a href=\"#{}\">{}</a></li>\n", anchor, xml_text(text));
  output_.write("</ul>\n</nav>\n");
}

void HtmlPage::table(const HtmlTable& table) {
  output_.print("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table{}>\n",
                xml_text(table.caption), table.is_text ? " class=\"words\"" : "");
  output_.print("<caption>{}</caption>\n", xml_text(table.caption));
  if (!table.header.empty()) {
    output_.write("<thead><tr>");
    for (const std::string& cell : table.header) output_.print("<th scope=\"col\">{}</th>", xml_text(cell));
    output_.write("</tr></thead>\n");
  }
  output_.write("<tbody>\n");
  for (const std::vector<std::string>& row : table.rows) {
    output_.write("<tr>");
    for (std::size_t i = 0; i < row.size(); ++i) {
      output_.write(fmt::format("<{0}>{1}</{2}>", i == 0 ? "th scope=\"row\"" : "td", xml_text(row[i]),
                                i == 0 ? "th" : "td"));
    }
    output_.write("</tr>\n");
  }
  output_.write("</tbody>\n</table>\n</div>\n");
}

void HtmlPage::folded(std::string_view summary, const HtmlTable& inner) {
  output_.print("<details>\n<summary>{}</summary>\n", xml_text(summary));
  table(inner);
  output_.write("</details>\n");
}

void HtmlPage::begin_figures() { output_.write("<div class=\"figures\">\n"); }
void HtmlPage::end_figures() { output_.write("</div>\n"); }

void HtmlPage::end_figure(std::string_view caption) {
  output_.print("<figcaption>{}</figcaption>\n</figure>\n", xml_text(caption));
}

void HtmlPage::finish() { output_.write("</main>\n</body>\n</html>\n"); }

}  // namespace warpmer::cli
