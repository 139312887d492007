#include "cli/framework/help.h"

#include <algorithm>
#include <memory>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "cli/framework/application.h"
#include "cli/framework/command_doc.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/man_page.h"
#include "cli/framework/text_output.h"

namespace warpmer::cli {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kTextColumn = 26;  ///< column at which an option's text starts

/// Appends the paragraphs of `text`, wrapped; every line but the first starts at `indent`.
void append_wrapped(std::string& out, const std::string& text, std::size_t indent) {
  std::istringstream paragraphs(text);
  bool first = true;
  for (std::string paragraph; std::getline(paragraphs, paragraph);) {
    if (!first) out.append(indent, ' ');
    first = false;
    std::istringstream words(paragraph);
    std::size_t column = indent;
    for (std::string word; words >> word;) {
      if (column > indent && column + 1 + word.size() > kColumns) {
        out += '\n';
        out.append(indent, ' ');
        column = indent;
      }
      if (column > indent) {
        out += ' ';
        ++column;
      }
      out += word;
      column += word.size();
    }
    out += '\n';
  }
}

/// `  heading    text`, the text below the heading where that is too long.
void append_entry(std::string& out, const std::string& heading, const std::string& text) {
  out += "  " + heading;
  const std::size_t used = heading.size() + 2;
  if (used + 2 > kTextColumn) {
    out += '\n';
    out.append(kTextColumn, ' ');
  } else {
    out.append(kTextColumn - used, ' ');
  }
  append_wrapped(out, text, kTextColumn);
}

void append_entries(std::string& out, const std::string& title, const std::vector<OptionDoc>& entries) {
  if (entries.empty()) return;
  out += "\n" + title + ":\n";
  for (const OptionDoc& entry : entries) append_entry(out, entry.heading(), entry.text);
}

struct HelpOptions {
  std::string command;
  bool man = false;
};

int run_help(const Application& application, const HelpOptions& options) {
  CommandDoc doc = describe(application.root());
  if (!options.command.empty()) {
    const auto found = std::find_if(doc.commands.begin(), doc.commands.end(), [&](const CommandDoc& command) {
      return command.name == options.command;
    });
    if (found == doc.commands.end()) throw UsageError(application.no_command_text(options.command));
    doc = CommandDoc(*found);
  }
  TextOutput output("-");
  output.write(options.man ? render_man_page(doc) : render_help(doc));
  output.finish();
  return kDone;
}

}  // namespace

std::string render_help(const CommandDoc& doc) {
  std::string out = "Usage: " + doc.usage() + "\n\n";
  append_wrapped(out, doc.summary, 0);
  append_wrapped(out, doc.details, 0);
  if (!doc.commands.empty()) {
    out += "\nCommands:\n";
    for (const CommandDoc& command : doc.commands) append_entry(out, command.name, command.summary);
  }
  append_entries(out, "Arguments", doc.arguments);
  append_entries(out, "Options", doc.options);
  for (const SectionDoc& section : doc.sections) {
    out += "\n" + section.title + ":\n";
    for (const std::string& line : section.lines) out += line + "\n";
  }
  return out;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string /*name*/,
                                     CLI::AppFormatMode /*mode*/) const {
  return render_help(describe(*app));
}

void add_help_command(Application& application) {
  auto options = std::make_shared<HelpOptions>();
  CLI::App& command = application.add_command("help", "Print the help of a command, or its manual page.",
                                              R"(Examples:
  warpmer help count
  warpmer help --man count | man -l -
)");
  command.add_option("COMMAND", options->command, "The command; warpmer itself when left out.");
  command.add_flag("--man", options->man, "Print the manual page, in roff.");
  application.on_run(command, [&application, options] { return run_help(application, *options); });
}

}  // namespace warpmer::cli
