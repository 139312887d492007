/// `warpmer plan`: what a counting job will take, before it is run.

#include <memory>

#include "cli/arguments/flags.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/output/plan_report.h"

namespace warpmer::cli {

void add_plan_command(Application& application) {
  auto request = std::make_shared<PlanRequest>();
  CLI::App& app = application.add_command(
      "plan",
      "Predict what 'warpmer count' will find and take, before it is run.\n"
      "Takes the options of 'warpmer count' and writes nothing. Reads a sample: evenly spread blocks of "
      "FASTA and FASTQ files, of compressed files and alignments the beginning. Each number is an estimate "
      "with a range that it is expected to be in; from a small sample of deep sequencing the range of "
      "distinct k-mers is wide, and --full narrows it.",
      R"(What is predicted:
  k-mers             occurrences
    distinct         different k-mers, and those that --min-count and
                     --max-count keep
  index              size of the file
  peak memory        resident set of the process with -m as it is
    needed           a smaller -m ends with an error
    to count once    with so much, no shard is counted early
    beyond the cap   super-k-mers that -m does not hold at once
  temporary files    written by the job
  time               on this machine's CPU, with the threads it has
  fits               whether the job will begin; exit status is 0
                     either way

Examples:
  warpmer plan -k 31 -m 16G reads_1.fq reads_2.fq
  warpmer plan --full --json -k 21 --min-count 2 @files.txt
  samtools fastq sample.bam | warpmer plan --full -k 31 -
)");
  add_count_flags(app, request->flags);
  app.get_option("--output")->description("As for 'warpmer count'; nothing is written.");
  app.add_flag(
      "--full", request->full,
      "Read the whole input, which takes about as long as reading it for 'warpmer count'. Needed for "
      "standard input and pipes, which are used up by it.");
  add_size_flag(
      app, "--sample", request->sample_bytes,
      "Read about so much of all inputs, as they are on disk, the same share of each. Default: 64M.");
  add_json_flag(app, request->json);
  add_progress_flag(app, request->progress);
  request->flags.job.provenance = application.provenance();
  application.on_run(app, [request] { return print_plan(*request); });
}

}  // namespace warpmer::cli
