/// `warpmer count`: reads in, index out.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/arguments/count_flags.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/messages.h"
#include "cli/framework/text_output.h"
#include "cli/output/counted_histogram.h"
#include "cli/output/counting_report.h"
#include "cli/output/index_summary.h"
#include "cli/output/plan_report.h"
#include "cli/output/progress.h"
#include "cli/output/report.h"
#include "file/output/output_path.h"
#include "file/shell_word.h"
#include "formats/text/ending.h"
#include "host/tmp_directory.h"
#include "jobs/count_job.h"
#include "mpi/process_group.h"

namespace warpmer::cli {
namespace {

struct CountCommand {
  CountFlags flags;
  bool histogram_only = false;
  bool dry_run = false;
  bool progress = false;
  std::string stats;
};

Json owners_json(const std::vector<backend::OwnerLoad>& loads) {
  Json owners = Json::array();
  for (const backend::OwnerLoad& load : loads)
    owners.push_back({{"super_kmers", load.super_kmers}, {"distinct_kmers", load.distinct_kmers}});
  return owners;
}

Json ranks_json(const jobs::CountReport& report) {
  Json ranks = Json::array();
  for (const jobs::RankReport& rank : report.ranks) {
    ranks.push_back({{"super_kmers", rank.super_kmers},
                     {"distinct_kmers", rank.distinct_kmers},
                     {"peak_resident_bytes", rank.peak_resident_bytes},
                     {"spilled_bytes", rank.spilled_bytes},
                     {"read_seconds", rank.read_seconds},
                     {"cpu_seconds", rank.cpu_seconds}});
  }
  return ranks;
}

/// Everything about a run, for `--stats`.
Json report_json(const CountCommand& command, std::string_view format, const jobs::CountReport& report,
                 double wall_seconds) {
  const jobs::CountOptions& job = command.flags.job;
  const Json own{{"k", job.kmers.k},
                 {"strand", strand_name(job.kmers.canonical)},
                 {"inputs", job.inputs},
                 {"output", command.flags.target.output},
                 {"format", std::string(format)},
                 {"table", std::string(backend::name_of(job.table))},
                 {"count_seconds", report.count_seconds},
                 {"owners", owners_json(report.owner_loads)},
                 {"ranks", ranks_json(report)},
                 {"overlap", report.overlap ? Json(*report.overlap) : Json(nullptr)}};
  return counting_json(job.provenance.command_line, own, report, wall_seconds);
}

void print_summary(const IndexTarget& target, const jobs::CountReport& report, double wall_seconds) {
  print_last_line(fmt::format(
      "{}, {} distinct, {:.1f} s, peak memory {}, {} on {}", counted(report.totals.counted_kmers, "k-mer"),
      with_thousands(report.totals.counted_distinct), wall_seconds, format_bytes(report.peak_resident_bytes),
      target.summary(report.index_bytes), device_text(report)));
}

/// Returns the directory of an index that is not the output. One that several processes write must be in a
/// place that all of them find.
std::string directory_of_index(const jobs::CountOptions& job, const std::string& output) {
  if (job.ranks->are_several() && !file::is_stream(output)) return file::parent_of(file::resolve(output));
  return host::tmp_directory(job.tmp_directory, output);
}

/// Tells the job where to write its index, which is the same for all its processes.
void set_output(jobs::CountOptions& job, IndexTarget& target) {
  const std::string directory = directory_of_index(job, target.output());
  job.output = job.ranks->is_first() ? target.index_path(directory) : target.output();
  if (target.format() != formats::Format::wmi && job.ranks->are_several()) {
    const mpi::Message name = job.ranks->broadcast(mpi::Message(job.output.begin(), job.output.end()));
    job.output.assign(name.begin(), name.end());
  }
}

/// Rejects what no job could do; fills in what the job needs to know besides its flags.
void complete(CountCommand& command, IndexTarget& target) {
  jobs::CountOptions& job = command.flags.job;
  std::vector<std::string> outputs = target.files();
  outputs.push_back(command.stats);
  // The others' inputs do not count, and lists may be the first one's alone.
  if (job.ranks->is_first()) expand_lists(job.inputs, outputs, job.resources.memory_bytes);
  set_output(job, target);
  command.flags.complete();
}

/// `--dry-run`: nothing is written, so there is nothing to write to.
int run_dry(const CountCommand& command) {
  if (command.flags.job.ranks->are_several())
    throw UsageError("--dry-run plans a job of one process; start it without mpirun or srun");
  if (!command.stats.empty())
    throw UsageError("--dry-run counts nothing that --stats could tell about; leave one of them out");
  PlanRequest request;
  request.flags = command.flags;
  request.progress = command.progress;
  return print_plan(std::move(request));
}

/// Returns the command that writes a histogram in the format of this name; empty where none does.
std::string advice_of_histo(std::uint32_t k, const std::string& output) {
  using formats::Content;
  constexpr std::array kOfHisto = {Content::npz, Content::arrow, Content::parquet, Content::svg,
                                   Content::png};
  if (std::ranges::find(kOfHisto, formats::content_of_path(output).content) == kOfHisto.end()) return {};
  return fmt::format("let 'warpmer histo -k {} READS -o {}' write that", k, file::shell_word(output));
}

/// `--histogram-only`: rows go to the output, as `warpmer histo` prints them of an index.
int run_histogram(CountCommand command) {
  IndexTargetFlags& target = command.flags.target;
  if (!target.to.empty())
    throw UsageError("--histogram-only writes no k-mers that --to could be for; leave one of them out");
  if (target.output.empty()) target.output = "-";
  formats::check_ending(target.output, {formats::Content::text, formats::Content::tsv},
                        advice_of_histo(command.flags.job.kmers.k, target.output));
  jobs::check_options(command.flags.job);
  StatsFile stats(command.stats);
  TextOutput output(target.output);
  const auto timed = count_for_histogram(command.flags, target.output, command.stats, command.progress);
  const auto& [report, seconds] = timed;
  for (const auto& [count, kmers] : report.histogram) output.print("{} {}\n", count, kmers);
  output.finish();
  stats.write(report_json(command, "histogram", report, seconds));
  stats.finish();
  print_counted(timed);
  return kDone;
}

int run_count(CountCommand command) {
  const jobs::CountOptions& job = command.flags.job;
  check_standard_input({{"as an input", job.inputs}, {"for --only", {job.only}}});
  if (command.dry_run && command.histogram_only)
    throw UsageError("--dry-run plans an index, and --histogram-only makes none; leave one of them out");
  if (command.dry_run) return run_dry(command);
  if (command.histogram_only) return run_histogram(std::move(command));
  // Under mpirun standard output may be a terminal that passes bytes on.
  IndexTarget target(command.flags.target, command.flags.job.ranks->are_several());
  complete(command, target);
  formats::check_kmers(target.format(), command.flags.job.kmers.k, command.flags.job.kmers.canonical);
  const bool speaks = command.flags.job.ranks->is_first();
  StatsFile stats(speaks ? command.stats : std::string());
  if (speaks) warn_of(command.flags.job.device);
  const ProgressStyle style = speaks ? progress_style(command.progress) : ProgressStyle::none;
  const auto [report, seconds] = run_with_meter(style, [&](backend::JobProgress& progress) {
    jobs::CountReport counted = jobs::count(command.flags.job, progress);
    if (speaks) target.write(command.flags.job.resources);
    return counted;
  });
  stats.write(report_json(command, formats::name_of(target.format()), report, seconds));
  stats.finish();
  if (speaks) print_summary(target, report, seconds);
  return kDone;
}

void declare_flags(CLI::App& app, CountCommand& command) {
  add_count_flags(app, command.flags);
  app.add_flag("--histogram-only", command.histogram_only,
               "Write no index, but how many distinct k-mers occur how often, to -o or standard output, as "
               "'warpmer histo' prints it. Faster, and takes no disk beyond what -m makes it spill.");
  app.add_flag("--dry-run", command.dry_run,
               "Count nothing: print what 'warpmer plan' prints about such a job, and need no -o.");
  add_progress_flag(app, command.progress);
  add_stats_flag(app, command.stats)
      ->description("Write what the run did, with the time and bytes of every stage, as JSON.");
}

}  // namespace

void add_count_command(Application& application) {
  auto command = std::make_shared<CountCommand>();
  CLI::App& app = application.add_command(
      "count",
      "Count the k-mers of sequences and write them as an index, or for another "
      "program.\n"
      "Counts are exact. White space in a FASTA sequence is no base, and breaks nothing. "
      "Anything but A, C, G, T and U breaks k-mers; a character "
      "that is no nucleotide code at all is an error unless --lenient is given. The "
      "index's content (its checksum is in 'warpmer info') does not depend on the "
      "number of threads, the device, the number of processes under mpirun, or the "
      "order of the inputs; beside it, the file holds the command line.",
      R"(Examples:
  warpmer count -k 31 -o sample.wmi reads_1.fq.gz reads_2.fq.gz
  warpmer count -k 21 --min-count 2 -t 8 -m 16G -o sample.wmi @files.txt
  samtools view -u sample.cram chr20 | warpmer count -k 31 -o chr20.wmi -
  warpmer count -k 31 -o - genome.fa.gz | warpmer histo -
  warpmer count -k 21 -o sample.kff reads.fq.gz
  warpmer count -k 21 --to kmc -o kmc_out reads.fq.gz
  warpmer count -k 31 --only panel.fa -o sample.wmi reads.fq.gz
  warpmer count -k 21 --histogram-only -o sample.hist reads.fq.gz
  mpirun -n 4 warpmer count -k 31 -o sample.wmi @files.txt
)");
  declare_flags(app, *command);
  command->flags.job.provenance = application.provenance();
  command->flags.job.ranks = &application.ranks();
  application.allow_ranks(app);
  application.on_run(app, [command] { return run_count(*command); });
}

}  // namespace warpmer::cli
