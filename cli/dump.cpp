/// `warpmer dump`: every k-mer with its count.

#include <memory>
#include <string>

#include "cli/application.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/flags.h"
#include "core/error.h"
#include "engine/export_job.h"
#include "formats/kmer_text.h"
#include "index/index_file.h"

namespace warpmer::cli {
namespace {

struct DumpOptions {
  std::string index;
  std::string output;
  std::string format = "tsv";
  bool sort = false;
  CountRange range;
  unsigned threads = 0;
  std::uint64_t memory_bytes = 0;
};

int run_dump(const DumpOptions& options) {
  options.range.check();
  if (options.format != "tsv" && options.format != "fasta") {
    throw UsageError("--format must be tsv or fasta, not '" + options.format + "'");
  }
  check_output(options.output, {options.index});
  const index::IndexFile index(options.index);
  const auto form = options.format == "tsv" ? formats::TextForm::tsv : formats::TextForm::fasta;
  formats::TextSink sink(options.output, form, index.params().k);
  engine::ExportOptions job;
  job.bounds = {options.range.min_count, options.range.max_count};
  job.order = options.sort ? formats::KmerOrder::by_kmer : formats::KmerOrder::any;
  job.memory_bytes = memory_or_default(options.memory_bytes);
  job.threads = threads_or_default(options.threads);
  engine::export_index(index, job, sink);
  return kDone;
}

}  // namespace

void add_dump_command(Application& application) {
  auto options = std::make_shared<DumpOptions>();
  CLI::App& command = application.add_command(
      "dump",
      "Print every k-mer with its count.\n"
      "One line per k-mer: the k-mer, a tab, its count; in the order of the file unless --sort is given.",
      R"(Examples:
  warpmer dump sample.wmi | head
  warpmer dump --sort --min-count 2 -o sample.tsv sample.wmi
  warpmer dump --format fasta sample.wmi > sample.fa
)");
  command.add_flag("--sort", options->sort, "In lexicographic order of the k-mers.");
  command
      .add_option("--format", options->format,
                  "tsv: KMER<TAB>COUNT; fasta: a record >COUNT for each k-mer. Default: tsv.")
      ->type_name("tsv|fasta");
  add_count_range_flags(command, options->range);
  add_text_output_flag(command, options->output);
  add_threads_flag(command, options->threads);
  add_memory_flag(command, options->memory_bytes);
  add_index_argument(command, options->index);
  application.on_run(command, [options] { return run_dump(*options); });
}

}  // namespace warpmer::cli
