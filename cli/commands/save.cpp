/// `warpmer save`: the table of a server as an index.

#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/arguments/asked_table.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/messages.h"
#include "cli/output/progress.h"
#include "jobs/live_job.h"
#include "serve/remote_table.h"

namespace warpmer::cli {
namespace {

struct SaveCommand {
  std::string server;
  jobs::LiveIndexOptions job;
  bool progress = false;
};

int run_save(SaveCommand command) {
  jobs::LiveIndexOptions& job = command.job;
  check_index_output(job.output);
  serve::RemoteTable table(command.server);
  job.kmers = table.kmers();
  job.resources = resources_or_default(job.resources);
  job.provenance.inputs = {command.server};
  const auto [report, seconds] =
      run_with_meter(progress_style(command.progress),
                     [&](backend::JobProgress& progress) { return jobs::write_live(table, job, progress); });
  print_last_line(fmt::format("{}, {:.1f} s, {} {}", counted(report.totals.stored_distinct, "distinct k-mer"),
                              seconds, shown_output(job.output), format_bytes(report.index_bytes)));
  return kDone;
}

}  // namespace

void add_save_command(Application& application) {
  auto command = std::make_shared<SaveCommand>();
  CLI::App& app = application.add_command(
      "save",
      "Write the table of a server as an index.\n"
      "It is the one that counting the same sequences would have made, but for the command line in it: all "
      "that "
      "'add' and 'remove' had brought when it began. While it runs, they wait; questions do not.",
      R"(Examples:
  warpmer save --server run.sock -o run.wmi
)");
  add_server_flag(app, command->server);
  add_index_output_flag(app, command->job.output);
  add_resource_flags(app, command->job.resources);
  add_progress_flag(app, command->progress);
  command->job.provenance = application.provenance();
  application.on_run(app, [command] { return run_save(*command); });
}

}  // namespace warpmer::cli
