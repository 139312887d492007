#include "cli/report.h"

#include <memory>

#include "cli/application.h"
#include "cli/exit_status.h"
#include "cli/flags.h"
#include "index/index_file.h"

namespace warpmer::cli {

void add_report_flags(CLI::App& app, ReportFlags& flags) {
  add_json_flag(app, flags.json);
  add_text_output_flag(app, flags.output);
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

StatsFile::StatsFile(const std::string& path) {
  if (!path.empty()) file_.emplace(path);
}

Json spilled_json(const engine::SpillReport& spilled) {
  return {{"host_bytes", spilled.host_bytes},
          {"written_bytes", spilled.written_bytes},
          {"of_frozen_runs", spilled.run_bytes},
          {"read_bytes", spilled.read_bytes}};
}

void StatsFile::write(const Json& report) {
  if (!file_) return;
  file_->write(json_text(report));
  file_->complete();
}

void StatsFile::finish() {
  if (file_) file_->finish();
}

void add_index_report_command(Application& application, const std::string& name,
                              const std::string& description, const std::string& footer,
                              const std::function<Json(const index::IndexFile&)>& json,
                              const std::function<void(const index::IndexFile&, TextOutput&)>& print) {
  struct Options {
    ReportFlags report;
    std::string index;
  };
  auto options = std::make_shared<Options>();
  CLI::App& command = application.add_command(name, description, footer);
  add_report_flags(command, options->report);
  add_index_argument(command, options->index);
  application.on_run(command, [=] {
    check_output(options->report.output, {options->index});
    const index::IndexFile index(options->index);
    write_report(
        options->report, [&] { return json(index); }, [&](TextOutput& output) { print(index, output); });
    return static_cast<int>(kDone);
  });
}

}  // namespace warpmer::cli
