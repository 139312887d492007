#pragma once
/// What warpmer says on stderr: errors, warnings, progress, and the line at the end. Each is one line,
/// whatever it holds (cli/framework/printable.h).

#include <CLI/CLI.hpp>
#include <string>

namespace warpmer::cli {

/// How the command that runs is to speak.
struct MessageFlags {
  bool quiet = false;   ///< errors only
  bool strict = false;  ///< warnings are errors
};

/// Of this process; set before a job begins.
MessageFlags& message_flags();

/// `-q` and `--strict`
void add_message_flags(CLI::App& app);

/// Prints whatever library code and commands warn of (base/warning.h), each sentence once; with `--strict` it
/// throws an InputError instead.
void print_warnings();

void print_error(const std::string& message);
/// Warns of temporary files that could not be removed: too late for `--strict`, the job is over.
void print_left_behind();
/// The line at the end of a job, on what it did; nothing with `-q`. The outputs get their names before it is
/// said that they are there (cli/framework/command_files.h).
void print_last_line(const std::string& message);

/// An output, and an input, as messages call them.
std::string shown_output(const std::string& path);
std::string shown_input(const std::string& path);

/// Progress on a terminal: one line that is overwritten by the next, and by whatever else is printed.
void show_progress(const std::string& line);
void clear_progress();
/// Progress as a line of its own.
void print_progress(const std::string& line);

}  // namespace warpmer::cli
