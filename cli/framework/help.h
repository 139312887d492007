#pragma once
/// Renders the text that `--help` and the `help` command print.

#include <CLI/CLI.hpp>
#include <string>

namespace warpmer::cli {

struct CommandDoc;

/// Returns the help text of a command, at most 80 columns wide.
std::string render_help(const CommandDoc& doc);

/// Makes CLI11 print our help text.
class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

}  // namespace warpmer::cli
