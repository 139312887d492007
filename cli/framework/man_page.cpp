#include "cli/framework/man_page.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

#include "cli/framework/command_doc.h"

namespace warpmer::cli {
namespace {

/// Text that roff prints as it is: no escapes, no requests, hyphens that can be copied.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
      out += std::string("\\&") + c;
    } else {
      out += c;
    }
  }
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

/// `warpmer-count`
std::string page_name(const CommandDoc& doc) { return doc.name.empty() ? "warpmer" : "warpmer-" + doc.name; }

/// `.TP` entry with flags in bold and the value's placeholder in italics.
void append_option(std::string& out, const OptionDoc& option) {
  out += ".TP\n";
  const bool is_argument = option.names.front().front() != '-';
  for (std::size_t i = 0; i < option.names.size(); ++i)
    out += (i == 0 ? "" : ", ") + std::string(is_argument ? "\\fI" : "\\fB") + roff(option.names[i]) + "\\fR";
  if (!option.value.empty() && !is_argument) out += " \\fI" + roff(option.value) + "\\fR";
  out += option.repeated ? "...\n" : "\n";
  out += roff(option.text) + "\n";
}

void append_options(std::string& out, const std::string& title, const std::vector<OptionDoc>& options) {
  if (options.empty()) return;
  out += ".SH " + title + "\n";
  for (const OptionDoc& option : options) append_option(out, option);
}

void append_commands(std::string& out, const CommandDoc& doc) {
  if (doc.commands.empty()) return;
  out += ".SH COMMANDS\n";
  for (const CommandDoc& command : doc.commands)
    out += ".TP\n\\fB" + roff(page_name(command)) + "\\fR(1)\n" + roff(command.summary) + "\n";
}

void append_description(std::string& out, const CommandDoc& doc) {
  out += ".SH DESCRIPTION\n" + roff(doc.summary) + "\n";
  std::istringstream paragraphs(doc.details);
  for (std::string paragraph; std::getline(paragraphs, paragraph);) out += ".PP\n" + roff(paragraph) + "\n";
}

/// A page name cannot hold a sentence: the first letter is lowered, the full stop dropped.
std::string name_line(const std::string& summary) {
  std::string line = summary;
  if (!line.empty()) {
    line.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(line.front())));
    if (line.back() == '.') line.pop_back();
  }
  return line;
}

}  // namespace

std::string render_man_page(const CommandDoc& doc) {
  std::string out =
      ".TH " + upper(page_name(doc)) + " 1 \"\" \"warpmer " WARPMER_VERSION "\" \"warpmer manual\"\n";
  out += ".SH NAME\n" + roff(page_name(doc)) + " \\- " + roff(name_line(doc.summary)) + "\n";
  out += ".SH SYNOPSIS\n\\fB" + roff(doc.program()) + "\\fR" +
         roff(doc.usage().substr(doc.program().size())) + "\n";
  append_description(out, doc);
  append_commands(out, doc);
  append_options(out, "ARGUMENTS", doc.arguments);
  append_options(out, "OPTIONS", doc.options);
  for (const SectionDoc& section : doc.sections) {
    out += ".SH " + upper(section.title) + "\n.nf\n";
    for (const std::string& line : section.lines) out += roff(line) + "\n";
    out += ".fi\n";
  }
  out += ".SH SEE ALSO\n";
  out += doc.name.empty() ? "\\fBwarpmer\\-count\\fR(1)\n" : "\\fBwarpmer\\fR(1)\n";
  return out;
}

}  // namespace warpmer::cli
