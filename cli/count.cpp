/// `warpmer count`: reads in, index out.

#include <fmt/core.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/application.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/flags.h"
#include "cli/index_summary.h"
#include "cli/progress.h"
#include "cli/quantity.h"
#include "cli/report.h"
#include "core/error.h"
#include "engine/count_job.h"
#include "engine/ranks.h"

namespace warpmer::cli {
namespace {

struct CountCommand {
  engine::CountOptions job;
  CountRange range;
  ReadingFlags reading;
  DeviceFlags device;
  bool forward = false;
  bool progress = false;
  std::string stats;
};

Json ranks_json(const engine::CountReport& report) {
  Json ranks = Json::array();
  for (const engine::RankReport& rank : report.ranks) {
    ranks.push_back({{"super_kmers", rank.super_kmers},
                     {"distinct_kmers", rank.distinct_kmers},
                     {"peak_resident_bytes", rank.peak_resident_bytes},
                     {"read_seconds", rank.read_seconds},
                     {"cpu_seconds", rank.cpu_seconds}});
  }
  return ranks;
}

/// Everything about a run, for `--stats`.
Json report_json(const CountCommand& command, const engine::CountReport& report, double wall_seconds) {
  Json stages = Json::array();
  for (const engine::StageReport& stage : report.stages) {
    stages.push_back({{"name", stage.name}, {"busy_seconds", stage.busy_seconds}, {"bytes", stage.bytes}});
  }
  return {{"version", WARPMER_VERSION},
          {"command_line", command.job.provenance.command_line},
          {"k", command.job.k},
          {"strand", strand_name(command.job.canonical)},
          {"inputs", command.job.inputs},
          {"output", command.job.output},
          {"device", report.device},
          {"device_choice", report.device_choice.note},
          {"table", std::string(engine::name_of(command.job.table))},
          {"threads", report.threads},
          {"memory_cap_bytes", report.memory_cap_bytes},
          {"peak_resident_bytes", report.peak_resident_bytes},
          {"index_bytes", report.index_bytes},
          {"early_counts", report.early_counts},
          {"wall_seconds", wall_seconds},
          {"read_seconds", report.read_seconds},
          {"count_seconds", report.count_seconds},
          {"cpu_seconds", report.cpu_seconds},
          {"stages", std::move(stages)},
          {"ranks", ranks_json(report)},
          {"overlap", report.overlap ? Json(*report.overlap) : Json(nullptr)},
          {"totals", totals_json(report.totals)}};
}

void print_summary(const CountCommand& command, const engine::CountReport& report, double wall_seconds) {
  const engine::DeviceChoice& device = report.device_choice;
  fmt::print(stderr, "warpmer: {} k-mers, {} distinct, {:.1f} s, peak memory {}, {} {} on {}{}\n",
             with_thousands(report.totals.counted_kmers), with_thousands(report.totals.counted_distinct),
             wall_seconds, format_bytes(static_cast<double>(report.peak_resident_bytes)),
             command.job.output == "-" ? "standard output" : command.job.output,
             format_bytes(static_cast<double>(report.index_bytes)), report.device,
             device.gpus.empty() ? "" : fmt::format(" ({})", device.note));
}

/// Rejects what no job could do; fills in what the job needs to know besides its flags.
void complete(CountCommand& command) {
  engine::CountOptions& job = command.job;
  if (job.output.empty()) {
    throw UsageError("where to write the index? Add -o FILE, or -o - for standard output");
  }
  // Under mpirun standard output may be a terminal that passes bytes on.
  if (job.output == "-" && !job.ranks->are_several() && isatty(STDOUT_FILENO) != 0) {
    throw UsageError("an index is binary and standard output is a terminal; use -o FILE, or a pipe");
  }
  check_outputs_differ({{"-o", job.output}, {"--stats", command.stats}});
  check_output(job.output, job.inputs);
  check_output(command.stats, job.inputs);
  command.range.check();
  job.min_count = command.range.min_count;
  job.max_count = command.range.max_count;
  job.lenient = command.reading.lenient;
  job.min_base_quality = command.reading.min_base_quality;
  job.reference = command.reading.reference;
  job.canonical = !command.forward;
  if (job.ranks->are_several() && command.device.device == "auto") {
    command.device.device = "cpu";
  }
  job.device = choose_device(command.device, job.inputs);
}

int run_count(CountCommand command) {
  complete(command);
  const bool speaks = command.job.ranks->is_first();
  StatsFile stats(speaks ? command.stats : std::string());
  if (speaks) {
    print_warning(command.job.device);
  }
  const ProgressStyle style = speaks ? progress_style(command.progress) : ProgressStyle::none;
  const auto [report, seconds] = run_with_meter(
      style, [&](engine::JobProgress& progress) { return engine::count(command.job, progress); });
  if (command.job.device.warning.empty()) {
    print_warning(report.device_choice);  // what only starting the GPU has shown
  }
  stats.write(report_json(command, report, seconds));
  stats.finish();
  if (style != ProgressStyle::none) {
    print_summary(command, report, seconds);
  }
  return kDone;
}

void add_table_flag(CLI::App& app, engine::CountTable& table) {
  app.add_option_function<std::string>(
         "--table", [&table](const std::string& name) { table = engine::count_table_named(name); },
         "The hash table that shards of k-mers are counted in. The index is the same whichever it is; they "
         "differ in speed and memory. Default: auto, which is the fastest on the device for what is counted. "
         "For k of 12 or less there is no table, and the choice has no effect.")
      ->type_name(engine::count_table_names("|"));
}

void declare_flags(CLI::App& app, CountCommand& command) {
  add_whole_number(
      app, "-k", 1, engine::kMaxK,
      [&command](std::uint64_t value) { command.job.k = static_cast<std::uint32_t>(value); },
      fmt::format("Length of the k-mers, 1 to {}. Default: {}.", engine::kMaxK, command.job.k));
  add_index_output_flag(app, command.job.output);
  add_threads_flag(app, command.job.threads);
  add_memory_flag(app, command.job.memory_bytes);
  add_count_range_flags(app, command.range);
  app.add_flag(
      "--forward", command.forward,
      "Count k-mers as they are read. Default: a k-mer and its reverse complement are one, named by the "
      "lexicographically smaller of the two.");
  add_reading_flags(app, command.reading);
  add_device_flags(app, command.device,
                   "auto, cpu, cpu:N for a CPU that acts as N devices, cuda for the GPU with the most free "
                   "memory, or cuda:N for the one that 'warpmer devices' lists under that number. Default: "
                   "auto, which is a GPU where one can be used and the input is not small, else the CPU.");
  add_table_flag(app, command.job.table);
  add_progress_flag(app, command.progress);
  app.add_option("--stats", command.stats,
                 "Write what the run did, with the time and bytes of every stage, as JSON.")
      ->type_name("FILE");
  app.add_option(
         "INPUT", command.job.inputs,
         "FASTA or FASTQ (plain, gzip, BGZF), BAM or CRAM, recognised by content; - for standard input; "
         "@LIST for a file of paths, one a line.")
      ->required()
      ->type_name("FILE");
}

}  // namespace

void add_count_command(Application& application) {
  auto command = std::make_shared<CountCommand>();
  CLI::App& app = application.add_command("count",
                                          "Count the k-mers of sequences and write them as an index.\n"
                                          "Counts are exact. Anything but A, C, G, T and U breaks k-mers; a "
                                          "character that is no nucleotide code at all "
                                          "is an error unless --lenient is given. The index does not depend "
                                          "on the number of threads, the device, the number of processes "
                                          "under mpirun, or the order of the inputs.",
                                          R"(Examples:
  warpmer count -k 31 -o sample.wmi reads_1.fq.gz reads_2.fq.gz
  warpmer count -k 21 --min-count 2 -t 8 -m 16G -o sample.wmi @files.txt
  samtools view -u sample.cram chr20 | warpmer count -k 31 -o chr20.wmi -
  warpmer count -k 31 -o - genome.fa.gz | warpmer histo -
  mpirun -n 4 warpmer count -k 31 -o sample.wmi @files.txt
)");
  declare_flags(app, *command);
  command->job.provenance.tool_version = WARPMER_VERSION;
  command->job.provenance.command_line = application.command_line();
  command->job.ranks = &application.ranks();
  application.allow_ranks(app);
  application.on_run(app, [command] { return run_count(*command); });
}

}  // namespace warpmer::cli
