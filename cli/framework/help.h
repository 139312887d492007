#pragma once
/// What `--help` prints, and the `help` command.

#include <CLI/CLI.hpp>
#include <string>

namespace warpmer::cli {

struct CommandDoc;

/// The help text of a command, at most 80 columns wide.
std::string render_help(const CommandDoc& doc);

/// Makes CLI11 print ours.
class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

}  // namespace warpmer::cli
