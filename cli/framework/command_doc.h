#pragma once
/// A command's documentation, taken from its declared options: the one source of `--help`, the man
/// pages and shell completion.

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace warpmer::cli {

struct OptionDoc {
  std::vector<std::string> names;  ///< `-o`, `--output`; for an argument its one name, `FILE`
  std::string value;               ///< `FILE`, `N`, `tsv|fasta`; empty for a switch
  std::string text;
  bool required = false;
  bool repeated = false;  ///< takes several values

  /// `-o, --output FILE`
  [[nodiscard]] std::string heading() const;
};

/// Lines shown as they are, under a title.
struct SectionDoc {
  std::string title;
  std::vector<std::string> lines;
};

struct CommandDoc {
  std::string name;     ///< `count`; empty for the program itself
  std::string summary;  ///< one sentence
  std::string details;  ///< further prose, perhaps empty; a line break separates paragraphs
  std::vector<OptionDoc> arguments;
  std::vector<OptionDoc> options;
  std::vector<SectionDoc> sections;
  std::vector<CommandDoc> commands;

  /// `warpmer count`
  [[nodiscard]] std::string program() const;
  /// `warpmer count [OPTION]... FILE...`
  [[nodiscard]] std::string usage() const;
};

CommandDoc describe(const CLI::App& app);

/// True when a value that is called so in the help (`FILE`, `DIR`) is the path of something.
bool is_path(std::string_view value);

}  // namespace warpmer::cli
