#pragma once
/// The output of commands that print one report: lines of a label and a value, or one JSON object.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "cli/framework/printable.h"
#include "cli/framework/text_output.h"
#include "cli/output/index_summary.h"
#include "formats/text/ending.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace warpmer::cli {

struct ReportFlags {
  std::string output;
  bool json = false;
};

/// `--json` and `-o`
void add_report_flags(CLI::App& app, ReportFlags& flags);

/// Throws a UsageError when the output's name has the ending of something else than JSON or, without
/// `--json`, `text`.
void check_ending(const ReportFlags& flags, formats::Content text = formats::Content::text);

/// Prints the report that the flags ask for.
void write_report(const ReportFlags& flags, const std::function<Json()>& json,
                  const std::function<void(TextOutput&)>& print);

/// The file of `--stats`, which gets the report of a run as JSON.
class StatsFile {
 public:
  /// Opens the file before the run, so that a path that cannot be written costs no run. An empty path asks
  /// for nothing. Throws a UsageError for a name with the ending of something else than JSON.
  explicit StatsFile(const std::string& path);
  /// Brings the report to the disk; the file has no name yet.
  void write(const Json& report);
  /// Gives it and all other outputs of the command their names.
  void finish();

 private:
  std::optional<TextOutput> file_;
};

/// `--stats`
CLI::Option* add_stats_flag(CLI::App& app, std::string& path);

/// Prints one line: the label, and the value in the column of all values; text is made printable.
template <class Value>
void print_field(TextOutput& output, std::string_view label, const Value& value) {
  if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
    output.print("{:<20}{}\n", label, printable(value));
  } else {
    output.print("{:<20}{}\n", label, value);
  }
}

}  // namespace warpmer::cli
