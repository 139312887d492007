#pragma once
/// Messages on stderr: errors, warnings, progress, and the line at the end. Each is one line, whatever it
/// holds (cli/framework/printable.h).

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace warpmer::cli {

/// The flags that say which messages the running command prints.
struct MessageFlags {
  bool quiet = false;   ///< errors only
  bool strict = false;  ///< warnings are errors
};

/// Returns the flags of this process; they are set before a job begins.
MessageFlags& message_flags();

/// `-q` and `--strict`
void add_message_flags(CLI::App& app);

/// Prints the warnings of library code and commands (base/warning.h), each sentence once; with `--strict` it
/// throws an InputError instead.
void print_warnings();

void print_error(const std::string& message);
/// Warns of temporary files that could not be removed: too late for `--strict`, the job is over.
void print_left_behind();
/// Prints the line at the end of a job, which says what it did; nothing with `-q`. The outputs get their
/// names before the line says that they are there (cli/framework/command_files.h).
void print_last_line(const std::string& message);

/// Return the name of an output, and of an input, in messages.
std::string shown_output(const std::string& path);
std::string shown_input(const std::string& path);

/// Returns whether a message has this option as a word of its own.
bool names_option(std::string_view message, std::string_view option);

/// Shows progress on a terminal, in one line that the next line, and all other output, overwrites.
void show_progress(const std::string& line);
void clear_progress();
/// Prints progress as a line of its own.
void print_progress(const std::string& line);

}  // namespace warpmer::cli
