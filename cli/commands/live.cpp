/// `warpmer add` and `warpmer remove`: reads into the table of a server, and out of it.

#include <fmt/format.h>

#include <memory>
#include <string>

#include "backend/empty_input.h"
#include "base/error.h"
#include "base/warning.h"
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

struct LiveCommand {
  std::string server;
  jobs::LiveReadOptions job;
  unsigned threads = 0;
  bool progress = false;
};

/// Removing is no error where k-mers are missing: others may have removed them meanwhile.
void warn_of_shortfall(const backend::Shortfall& shortfall, const serve::RemoteTable& table) {
  if (shortfall.is_none()) return;
  warn(fmt::format(
      "{} that were to be removed were not there, or not so often ({}){}",
      counted(shortfall.absent_kmers + shortfall.short_kmers, "distinct k-mer"),
      counted(shortfall.absent_occurrences + shortfall.short_occurrences, "occurrence"),
      table.totals().are_known ? "" : "; how many sequences and bases the table has is unknown from now on"));
}

int run_change(LiveCommand command) {
  jobs::LiveReadOptions& job = command.job;
  expand_lists(job.inputs, {});
  serve::RemoteTable table(command.server);
  job.kmers = table.kmers();
  job.threads = threads_or_default(command.threads);
  const auto [report, seconds] =
      run_with_meter(progress_style(command.progress),
                     [&](backend::JobProgress& progress) { return jobs::change_live(table, job, progress); });
  try {
    backend::warn_if_empty(report.read, job.kmers.k, "the reads");
    io::warn_of_phred64(job.reading.qualities);
    warn_of_shortfall(report.shortfall, table);
  } catch (const Error& error) {  // --strict; the table is changed by now, if there was anything
    if (report.read.records == 0) throw;
    throw Error(error.kind(),
                fmt::format("{}; the table is changed: {} {}", error.what(),
                            job.is_removal ? "removed" : "added", counted(report.read.records, "read")));
  }
  print_last_line(fmt::format("{} ({}) of {} {} {}, {:.1f} s", counted(report.read.kmers, "k-mer"),
                              counted(report.read.bases, "base"), counted(report.read.records, "read"),
                              job.is_removal ? "removed from" : "added to", command.server, seconds));
  return kDone;
}

CLI::App& add_change_command(Application& application, const char* name, bool is_removal,
                             const std::string& description, const std::string& footer) {
  auto command = std::make_shared<LiveCommand>();
  command->job.is_removal = is_removal;
  CLI::App& app = application.add_command(name, description, footer);
  add_server_flag(app, command->server);
  app.add_option("READS", command->job.inputs, "Any input that 'warpmer count' takes, @LIST and - included.")
      ->required()
      ->type_name("FILE");
  add_reading_flags(app, command->job.reading);
  add_threads_flag(app, command->threads);
  add_progress_flag(app, command->progress);
  application.on_run(app, [command] { return run_change(*command); });
  return app;
}

}  // namespace

void add_live_commands(Application& application) {
  add_change_command(
      application, "add", false,
      "Add sequences to the table of a server.\n"
      "When it returns, everybody's next question sees all of them. An error, such as that the "
      "server has no memory for more, says how many are in by then.",
      R"(Examples:
  warpmer add --server run.sock reads_1.fq.gz reads_2.fq.gz
  samtools fastq new.bam | warpmer add --server run.sock -
)");
  add_change_command(
      application, "remove", true,
      "Take sequences away from the table of a server.\n"
      "Counts go down by what the sequences have, and end at 0; a warning tells of k-mers that "
      "were not there so often.",
      R"(Examples:
  warpmer remove --server run.sock old.fq.gz
  warpmer remove --strict --server run.sock old.fq.gz
)");
}

}  // namespace warpmer::cli
