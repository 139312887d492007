#pragma once
/// The program as a tree of commands: declares them, parses the command line, and runs the chosen one.

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "index/index_file.h"

namespace warpmer::mpi {
class ProcessGroup;
ProcessGroup& single_process();
}  // namespace warpmer::mpi

namespace warpmer::cli {

/// The work of a command once its options are parsed; returns the exit status.
using Action = std::function<int()>;

class Application {
 public:
  /// Declares every command, or, where `asked` is one that needs no others, that alone. `command_line` is the
  /// text that the user typed, for provenance; `ranks` are the processes that run the command together.
  explicit Application(std::string command_line, mpi::ProcessGroup& ranks = mpi::single_process(),
                       std::string_view asked = {});

  /// Parses and runs; the outputs get their names at the end, all or none. Throws CLI::ParseError (see
  /// `render_parse_error`), Error, or the command's exception.
  int run(std::vector<std::string> arguments);

  /// Adds a command. The first line of `description` is its summary in lists of commands. `footer`
  /// consists of sections, each a line `Title:` and indented lines that are shown as they are.
  CLI::App& add_command(const std::string& name, const std::string& description, const std::string& footer);

  /// Lets a command be run by several ranks.
  void allow_ranks(const CLI::App& command) { of_ranks_.push_back(command.get_name()); }
  [[nodiscard]] mpi::ProcessGroup& ranks() const noexcept { return ranks_; }

  /// Sets the action of `command`, whose own options are declared.
  void on_run(CLI::App& command, Action action);

  [[nodiscard]] const CLI::App& root() const noexcept { return root_; }
  [[nodiscard]] const std::string& command_line() const noexcept { return command_line_; }
  /// Returns the provenance of the command's outputs, without inputs.
  [[nodiscard]] index::Provenance provenance() const { return {WARPMER_VERSION, command_line_, {}}; }

  /// Throws a UsageError unless `told`, what this rank was told to do, is the same on all ranks. Every rank
  /// calls it first, also those that were told something else.
  void check_told_alike(std::string_view told) const;

  /// Returns the message that there is no such command, and which may have been meant.
  [[nodiscard]] std::string no_command_text(const std::string& name) const;
  /// Returns one line for a command line that was not understood, with a pointer to the right `--help`.
  [[nodiscard]] std::string render_parse_error(const CLI::ParseError& error) const;
  /// Returns what to add to an error that quotes -m where the command line has none; nothing for others.
  [[nodiscard]] std::string default_memory_note(const std::string& message) const;

 private:
  void check_command_name(const std::vector<std::string>& arguments) const;
  int print_overview() const;
  void check_ranks(const std::string& command) const;
  void note_lone_tasks(const std::string& command) const;
  void check_told_alike(const CLI::App& command) const;

  CLI::App root_;
  std::string command_line_;
  mpi::ProcessGroup& ranks_;
  std::vector<std::string> of_ranks_;
  std::map<std::string, Action> actions_;
};

/// Works around two habits of CLI11 that would misread file names: `--` in front of optional
/// arguments, and arguments like `[a,b]` that it would take for lists. Both are turned into paths
/// that begin with `./`.
std::vector<std::string> protect_file_names(const std::vector<std::string>& arguments);

/// Returns the arguments as one line that a POSIX shell would read back.
std::string quote_command_line(const std::vector<std::string>& arguments);

}  // namespace warpmer::cli
