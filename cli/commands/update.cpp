/// `warpmer update`: an index and reads in, the index with these reads added or taken away out.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/messages.h"
#include "cli/output/counting_report.h"
#include "cli/output/index_summary.h"
#include "cli/output/progress.h"
#include "cli/output/report.h"
#include "jobs/update_job.h"

namespace warpmer::cli {
namespace {

struct UpdateCommand {
  jobs::UpdateOptions job;
  DeviceFlags device;
  bool progress = false;
  std::string stats;
};

Json read_json(const std::vector<std::string>& inputs, const backend::ReadTotals& read) {
  return {{"inputs", inputs}, {"sequences", read.records}, {"bases", read.bases}, {"kmers", read.kmers}};
}

/// Everything about a run, for `--stats`.
Json report_json(const UpdateCommand& command, const jobs::UpdateReport& report, double wall_seconds) {
  const Json own{{"index", command.job.index},
                 {"added", read_json(command.job.added, report.added)},
                 {"removed", read_json(command.job.removed, report.removed)},
                 {"output", command.job.count.output},
                 {"update_seconds", report.update_seconds}};
  return counting_json(command.job.count.provenance.command_line, own, report, wall_seconds);
}

void print_summary(const UpdateCommand& command, const jobs::UpdateReport& report, double wall_seconds) {
  print_last_line(fmt::format(
      "{} added, {} removed, {} distinct now, {:.1f} s, peak memory {}, {} {} on {}",
      counted(report.added.kmers, "k-mer"), with_thousands(report.removed.kmers),
      with_thousands(report.totals.stored_distinct), wall_seconds, format_bytes(report.peak_resident_bytes),
      shown_output(command.job.count.output), format_bytes(report.index_bytes), device_text(report)));
}

void check_read_once(const jobs::UpdateOptions& job) {
  check_standard_input(
      {{"as the index", {job.index}}, {"for --add", job.added}, {"for --remove", job.removed}});
}

/// Rejects what no job could do; fills in what the job needs to know besides its flags.
void complete(UpdateCommand& command) {
  jobs::UpdateOptions& job = command.job;
  if (job.added.empty() && job.removed.empty())
    throw UsageError("nothing to do: give --add FILE or --remove FILE, or both");
  check_index_output(job.count.output);
  check_read_once(job);  // a list from standard input among them
  for (auto* reads : {&job.added, &job.removed})
    expand_lists(*reads, {job.count.output, command.stats}, job.count.resources.memory_bytes);
  check_read_once(job);  // and what lists name
  std::vector<std::string> reads = job.added;
  reads.insert(reads.end(), job.removed.begin(), job.removed.end());
  job.count.device = choose_device(command.device, reads);
}

int run_update(UpdateCommand command) {
  complete(command);
  StatsFile stats(command.stats);
  warn_of(command.job.count.device);
  const ProgressStyle style = progress_style(command.progress);
  const auto [report, seconds] = run_with_meter(
      style, [&](backend::JobProgress& progress) { return jobs::update(command.job, progress); });
  stats.write(report_json(command, report, seconds));
  stats.finish();
  print_summary(command, report, seconds);
  return kDone;
}

void declare_flags(CLI::App& app, UpdateCommand& command) {
  add_index_argument(app, command.job.index);
  app.add_option(
         "--add", command.job.added,
         "Add the k-mers of FILE: any input that 'warpmer count' takes, @LIST and - included. Several "
         "files, or the option several times.")
      ->type_name("FILE");
  app.add_option("--remove", command.job.removed,
                 "Take the k-mers of FILE away, likewise. What --add brings can be taken away, too.")
      ->type_name("FILE");
  add_index_output_flag(app, command.job.count.output);
  add_resource_flags(app, command.job.count.resources);
  add_tmp_directory_flag(app, command.job.count.tmp_directory);
  add_reading_flags(app, command.job.count.reading);
  add_device_flags(
      app, command.device,
      "auto, cpu, cuda for all GPUs that can be used, together, cuda:N for the one that 'warpmer devices' "
      "lists under that number, or cuda:N,M for several. Default: auto, which is all GPUs that were "
      "granted to this process, or the one with the most free memory, where the input is not small; else the "
      "CPU.");
  add_progress_flag(app, command.progress);
  add_stats_flag(app, command.stats);
}

}  // namespace

void add_update_command(Application& application) {
  auto command = std::make_shared<UpdateCommand>();
  CLI::App& app = application.add_command(
      "update",
      "Add sequences to an index, or take them away.\n"
      "Counts go up and down, and a k-mer whose count comes to 0 is gone: the index written is the one that "
      "counting the resulting sequences would have made. k and strand are the index's. K-mers to be removed "
      "that are not there, or not so often, are an error that says how many they are; then nothing is "
      "written. An index made with --min-count, --max-count or --only, or by an operation that leaves k-mers "
      "out (intersect, subtract), cannot be updated, because what it left out is not known. Nor should one "
      "be whose counts are no sums (union --counts max), which is not refused: an index does not record it. "
      "An index much larger than a GPU's memory can be updated there.",
      R"(Examples:
  warpmer update sample.wmi --add lane_3.fq.gz lane_4.fq.gz -o larger.wmi
  warpmer update all.wmi --remove gone_1.fq --remove gone_2.fq -o rest.wmi
  warpmer update week_1.wmi --add new.fq --remove old.fq -m 16G -o week_2.wmi
  warpmer update all.wmi --add lane_5.fq --device cuda -o more.wmi
)");
  declare_flags(app, *command);
  command->job.count.provenance = application.provenance();
  application.on_run(app, [command] { return run_update(*command); });
}

}  // namespace warpmer::cli
