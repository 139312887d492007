/// `warpmer dump`: every k-mer with its count.

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backend/indexes/entry_text.h"
#include "base/error.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/messages.h"
#include "cli/framework/text_output.h"
#include "cli/output/progress.h"
#include "formats/text/ending.h"
#include "host/limits.h"
#include "index/index_file.h"

namespace warpmer::cli {
namespace {

struct DumpOptions {
  std::string index;
  std::string output;
  std::string format = "tsv";
  backend::EntryTextPlan plan;  ///< but for its format
  bool progress = false;
};

int run_dump(const DumpOptions& options) {
  backend::EntryTextPlan plan = options.plan;
  check_count_range(plan.bounds);
  if (options.format != "tsv" && options.format != "fasta") {
    throw UsageError("--format must be tsv or fasta, not '" + options.format + "'");
  }
  const bool is_tsv = options.format == "tsv";
  formats::check_ending(options.output, {is_tsv ? formats::Content::tsv : formats::Content::fasta},
                        is_tsv ? "add --format fasta for FASTA; 'warpmer convert' writes other formats" : "");
  auto& [threads, memory_bytes] = plan.resources;
  const bool has_cap = plan.sorted && memory_bytes > 0;
  const index::IndexFile index(options.index, has_cap ? host::memory_left(memory_bytes) : UINT64_MAX);
  threads = threads_or_default(threads);
  TextOutput output(options.output, threads);
  plan.format = is_tsv ? backend::EntryFormat::tsv : backend::EntryFormat::fasta;
  const auto [kmers, seconds] =
      run_with_meter(progress_style(options.progress), [&](backend::JobProgress& progress) {
        backend::write_entries(index, plan, [&](std::string_view text, const Progress& so_far) {
          output.write(text, so_far);
          note_share(progress, backend::JobProgress::Stage::writing, so_far);
        });
        return backend::entries_within(index, plan.bounds);
      });
  output.finish();
  print_last_line(fmt::format("wrote {}, {:.1f} s, {} {}", counted(kmers, "k-mer"), seconds,
                              shown_output(options.output),
                              format_bytes(static_cast<double>(output.bytes_written()))));
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
  command.add_flag("--sort", options->plan.sorted, "In lexicographic order of the k-mers.");
  command
      .add_option("--format", options->format,
                  "tsv: KMER<TAB>COUNT; fasta: a record >COUNT for each k-mer. Default: tsv.")
      ->type_name("tsv|fasta");
  add_count_range_flags(command, options->plan.bounds);
  add_text_output_flag(command, options->output);
  add_threads_flag(command, options->plan.resources.threads);
  add_memory_flag(command, options->plan.resources.memory_bytes)
      ->description(
          "With --sort: memory the whole process may use, for example 16G or 512M (binary units); a hard "
          "cap. What does not fit at once is sorted in several passes over the index. Default: what sorting "
          "a quarter of the k-mers at a time takes, 2 bytes for each k-mer (4 where k is above 32) and at "
          "least 192M.");
  add_progress_flag(command, options->progress);
  add_index_argument(command, options->index);
  application.on_run(command, [options] { return run_dump(*options); });
}

}  // namespace warpmer::cli
