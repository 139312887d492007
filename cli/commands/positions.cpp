/// `warpmer positions`: sequences in, index of their k-mers' positions out.

#include "backend/lookup/positions.h"

#include <fmt/format.h>

#include <memory>

#include "cli/arguments/flags.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/messages.h"
#include "cli/output/progress.h"

namespace warpmer::cli {
namespace {

struct PositionsCommand {
  backend::PositionOptions job;
  bool forward = false;
  bool progress = false;
};

void print_summary(const PositionsCommand& command, const backend::PositionReport& report,
                   double wall_seconds) {
  print_last_line(fmt::format(
      "{} of {} in {}, {:.1f} s, peak memory {}, {} {}, {}, {} pass{}",
      counted(report.totals.occurrences, "position"), counted(report.totals.distinct, "k-mer"),
      counted(report.totals.sequences, "sequence"), wall_seconds, format_bytes(report.peak_resident_bytes),
      shown_output(command.job.output), format_bytes(report.index_bytes),
      counted(report.resources.threads, "thread"), report.passes, report.passes == 1 ? "" : "es"));
}

/// Rejects what no job could do; fills in what the job needs to know besides its flags.
void complete(PositionsCommand& command) {
  backend::PositionOptions& job = command.job;
  check_index_output(job.output, formats::Content::positions);
  expand_lists(job.inputs, {job.output}, job.resources.memory_bytes);
  job.kmers.canonical = !command.forward;
}

int run_positions(PositionsCommand command) {
  complete(command);
  const ProgressStyle style = progress_style(command.progress);
  const auto [report, seconds] = run_with_meter(
      style, [&](backend::JobProgress& progress) { return backend::index_positions(command.job, progress); });
  print_summary(command, report, seconds);
  return kDone;
}

void declare_flags(CLI::App& app, PositionsCommand& command) {
  add_length_flag(app, command.job.kmers.k);
  add_index_output_flag(app, command.job.output);
  add_resource_flags(app, command.job.resources);
  app.add_flag("--forward", command.forward, "Find k-mers only as they are read. Default: on both strands.");
  add_reading_flags(app, command.job.reading);
  add_progress_flag(app, command.progress);
  app.add_option(
         "REF", command.job.inputs,
         "Sequences: any input that 'warpmer count' takes, recognised by content; - for standard input; "
         "@LIST for a file of paths, one a line; those that begin with # are skipped. Sequences are numbered "
         "as they come.")
      ->required()
      ->type_name("FILE");
}

}  // namespace

void add_positions_command(Application& application) {
  auto command = std::make_shared<PositionsCommand>();
  CLI::App& app = application.add_command(
      "positions",
      "Index where each k-mer of some sequences occurs.\n"
      "All occurrences are kept, however many a k-mer has: sequence, position and strand. 'warpmer locate' "
      "looks k-mers up in the index. Anything but A, C, G, T and U breaks k-mers; a character that is no "
      "nucleotide code at all is an error unless --lenient is given. The index does not depend on the number "
      "of threads; when memory does not hold all k-mers at once, it takes several passes over the sequences.",
      R"(Examples:
  warpmer positions -k 31 -o ref.wmp genome.fa.gz
  warpmer positions -k 15 -t 8 -m 4G -o contigs.wmp contigs_1.fa contigs_2.fa
  warpmer locate ref.wmp --reads reads.fq.gz > seeds.tsv
)");
  declare_flags(app, *command);
  command->job.provenance = application.provenance();
  application.on_run(app, [command] { return run_positions(*command); });
}

}  // namespace warpmer::cli
