#include "cli/framework/command_doc.h"

#include <fmt/format.h>

#include <sstream>

#include "base/error.h"

namespace warpmer::cli {
namespace {

OptionDoc describe_option(const CLI::Option& option) {
  OptionDoc doc;
  if (option.get_positional()) doc.names.push_back(option.get_name(true));
  for (const std::string& name : option.get_snames()) doc.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) doc.names.push_back("--" + name);
  const bool takes_value = option.get_items_expected_max() > 0;
  doc.value = takes_value ? option.get_type_name() : "";
  doc.text = option.get_description();
  doc.required = option.get_required();
  doc.repeated = option.get_items_expected_max() > 1;
  return doc;
}

/// Splits a footer into its sections: a line that is not indented is the title of one, with a colon behind.
std::vector<SectionDoc> split_sections(const std::string& footer) {
  std::vector<SectionDoc> sections;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.front() != ' ') {
      if (line.find(':') != line.size() - 1)
        throw InternalError(fmt::format("'{}' is no title of a section of the help", line));
      sections.push_back({line.substr(0, line.size() - 1), {}});
    } else if (!sections.empty() && !line.empty()) {
      sections.back().lines.push_back(line);
    }
  }
  return sections;
}

}  // namespace

std::string OptionDoc::heading() const {
  std::string heading;
  for (const std::string& name : names) heading += (heading.empty() ? "" : ", ") + name;
  const bool is_argument = !names.empty() && names.front().front() != '-';
  if (!value.empty() && !is_argument) heading += " " + value;
  return repeated ? heading + "..." : heading;
}

std::string CommandDoc::program() const { return name.empty() ? "warpmer" : "warpmer " + name; }

std::string CommandDoc::usage() const {
  std::string usage = program();
  if (!commands.empty()) return usage + " COMMAND [OPTION]... [FILE]...";
  usage += " [OPTION]...";
  for (const OptionDoc& argument : arguments)
    usage += argument.required ? " " + argument.heading() : " [" + argument.heading() + "]";
  return usage;
}

CommandDoc describe(const CLI::App& app) {
  CommandDoc doc;
  doc.name = app.get_parent() == nullptr ? "" : app.get_name();
  const std::string description = app.get_description();
  const std::size_t summary_end = description.find('\n');
  doc.summary = description.substr(0, summary_end);
  doc.details = summary_end == std::string::npos ? "" : description.substr(summary_end + 1);
  for (const CLI::Option* option : app.get_options())
    (option->get_positional() ? doc.arguments : doc.options).push_back(describe_option(*option));
  doc.sections = split_sections(app.get_footer());
  for (const CLI::App* command : app.get_subcommands({})) doc.commands.push_back(describe(*command));
  return doc;
}

bool is_path(std::string_view value) {
  return value == "FILE" || value == "DIR" || value == "SOCKET" || value == "PREFIX";
}

}  // namespace warpmer::cli
