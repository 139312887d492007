#include "cli/framework/messages.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <set>

#include "base/error.h"
#include "base/warning.h"
#include "cli/framework/command_files.h"
#include "cli/framework/printable.h"
#include "file/output/temp_file_registry.h"

namespace warpmer::cli {
namespace {

/// Held while a line is written: jobs warn from any thread, and progress has one of its own.
std::mutex& stderr_mutex() {
  static std::mutex mutex;
  return mutex;
}

constexpr const char* kClearLine = "\r\033[K";

bool is_progress_shown = false;

void remove_progress() {
  if (is_progress_shown) std::fputs(kClearLine, stderr);
  is_progress_shown = false;
}

void print_line(const std::string& text) {
  const std::scoped_lock lock(stderr_mutex());
  remove_progress();
  std::fputs(("warpmer: " + printable(text) + "\n").c_str(), stderr);
}

void take_warning(const std::string& message) {
  if (message_flags().strict) throw InputError(message + " (a warning, which --strict makes an error)");
  if (message_flags().quiet) return;
  {
    static std::set<std::string> printed;
    const std::scoped_lock lock(stderr_mutex());
    if (!printed.insert(message).second) return;
  }
  print_line("warning: " + message);
}

}  // namespace

MessageFlags& message_flags() {
  static MessageFlags flags;
  return flags;
}

void add_message_flags(CLI::App& app) {
  MessageFlags& flags = message_flags();
  flags = {};
  app.add_flag("-q,--quiet", flags.quiet, "Print errors only: no warnings, no progress, no line at the end.");
  app.add_flag("--strict", flags.strict, "Make warnings errors: exit with status 3, and write no output.");
}

void print_warnings() { listen_for_warnings(take_warning); }

bool names_option(std::string_view message, std::string_view option) {
  const std::string words = " " + std::string(message) + " ";
  return std::ranges::any_of(std::string_view(" ,;:"), [&](char end) {
    return words.find(" " + std::string(option) + end) != std::string::npos;
  });
}

void print_error(const std::string& message) { print_line("error: " + message); }

void print_left_behind() {
  for (const std::string& sentence : file::take_left_behind()) {
    if (!message_flags().quiet) print_line("warning: " + sentence);
  }
}

void print_last_line(const std::string& message) {
  name_outputs();
  if (!message_flags().quiet) print_line(message);
}

std::string shown_output(const std::string& path) { return path == "-" ? "standard output" : path; }

std::string shown_input(const std::string& path) { return path == "-" ? "standard input" : "'" + path + "'"; }

void show_progress(const std::string& line) {
  const std::scoped_lock lock(stderr_mutex());
  std::fputs(("\r" + printable(line) + "\033[K").c_str(), stderr);
  std::fflush(stderr);
  is_progress_shown = true;
}

void clear_progress() {
  const std::scoped_lock lock(stderr_mutex());
  remove_progress();
}

void print_progress(const std::string& line) { print_line(line); }

}  // namespace warpmer::cli
