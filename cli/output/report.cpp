#include "cli/output/report.h"

#include <CLI/CLI.hpp>

#include "cli/arguments/flags.h"
#include "cli/framework/command_files.h"

namespace warpmer::cli {

void add_report_flags(CLI::App& app, ReportFlags& flags) {
  add_json_flag(app, flags.json);
  add_text_output_flag(app, flags.output);
}

void check_ending(const ReportFlags& flags, formats::Content text) {
  const bool has_json = formats::content_of_path(flags.output).content == formats::Content::json;
  formats::check_ending(flags.output, {flags.json ? formats::Content::json : text},
                        has_json ? "add --json" : "");
}

void write_report(const ReportFlags& flags, const std::function<Json()>& json,
                  const std::function<void(TextOutput&)>& print) {
  TextOutput output(flags.output);
  if (flags.json) {
    output.write(json_text(json()));
  } else {
    print(output);
  }
  output.finish();
}

CLI::Option* add_stats_flag(CLI::App& app, std::string& path) {
  return app.add_option("--stats", path, "Write what the run did as JSON.")->type_name("FILE");
}

StatsFile::StatsFile(const std::string& path) {
  if (path.empty()) return;
  formats::check_ending(path, {formats::Content::json});
  file_.emplace(path);
}

void StatsFile::write(const Json& report) {
  if (!file_) return;
  file_->write(json_text(report));
  file_->complete();
}

void StatsFile::finish() {
  if (file_) file_->finish();
  name_outputs();
}

}  // namespace warpmer::cli
