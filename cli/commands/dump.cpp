/// `warpmer dump`: every k-mer with its count.

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backend/indexes/entry_text.h"
#include "backend/indexes/set_session.h"
#include "base/error.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/messages.h"
#include "cli/framework/text_output.h"
#include "cli/output/progress.h"
#include "cli/output/table_schemas.h"
#include "formats/table/npz_file.h"
#include "formats/table/table_format.h"
#include "formats/text/ending.h"
#include "host/limits.h"
#include "index/index_file.h"

namespace warpmer::cli {
namespace {

struct DumpOptions {
  std::string index;
  std::string output;
  std::string format;           ///< empty: as the output's name has it
  backend::EntryTextPlan plan;  ///< but for its format
  bool progress = false;
};

using formats::Content;

/// Returns what is to be written; that it is a table, the output's name may say alone.
Content content_of(const DumpOptions& options) {
  const std::string format = formats::settled_format(options.format, options.output, "tsv");
  if (const auto table = formats::table_named(format)) {
    formats::check_table(options.output, *table);
    return *table;
  }
  if (format != "tsv" && format != "fasta")
    throw UsageError("--format must be tsv, fasta, npz, arrow or parquet, not '" + format + "'");
  const Content content = format == "tsv" ? Content::tsv : Content::fasta;
  formats::check_ending(
      options.output, {content},
      format == "tsv" ? "add --format fasta for FASTA; 'warpmer convert' writes other formats" : "");
  return content;
}

using WriteText = std::function<void(std::string_view text, const Progress& so_far)>;

/// Goes through the index twice: once for the k-mers, once for their counts.
void write_entries_npz(const index::IndexFile& index, backend::EntryTextPlan plan, const WriteText& write) {
  Progress so_far;
  formats::NpzWriter npz([&](std::string_view bytes) { write(bytes, so_far); });
  const std::uint64_t kmers = backend::entries_within(index, plan.bounds), k = index.params().k;
  const bool is_wide = k > kMaxNarrowK;
  const double kmer_share = is_wide ? 2.0 / 3 : 1.0 / 2;
  const auto append = [&](backend::EntryFormat format, double from, double share) {
    plan.format = format;
    backend::write_entries(index, plan, [&](std::string_view bytes, const Progress& part) {
      // In thousandths of the file.
      const double done =
          part.total > 0 ? static_cast<double>(part.done) / static_cast<double>(part.total) : 0;
      so_far = {static_cast<std::uint64_t>(1000 * (from + share * done)), 1000};
      npz.append(bytes);
    });
  };
  npz.add("k", std::span(&k, 1), {});
  npz.begin("kmers", is_wide ? formats::NpzWriter::Shape{kmers, 2} : formats::NpzWriter::Shape{kmers});
  append(backend::EntryFormat::packed_kmers, 0, kmer_share);
  npz.end();
  npz.begin("counts", {kmers});
  append(backend::EntryFormat::raw_counts, kmer_share, 1 - kmer_share);
  npz.end();
  npz.finish();
}

int run_dump(const DumpOptions& options) {
  backend::EntryTextPlan plan = options.plan;
  check_count_range(plan.bounds);
  const Content content = content_of(options);
  const std::uint64_t memory_bytes = plan.resources.memory_bytes;
  if (memory_bytes > 0 && !plan.sorted) throw UsageError("-m needs --sort");
  plan.resources = resources_or_default(plan.resources);
  const index::IndexFile index(options.index,
                               memory_bytes > 0 ? host::memory_left(memory_bytes) : UINT64_MAX);
  TextOutput output(options.output, plan.resources.threads);
  if (content == Content::arrow || content == Content::parquet)
    output.begin_table(content, kmer_counts_table(index.params().k));
  plan.format = content == Content::fasta ? backend::EntryFormat::fasta : backend::EntryFormat::tsv;
  const auto [kmers, seconds] =
      run_with_meter(progress_style(options.progress), [&](backend::JobProgress& progress) {
        const WriteText write = [&](std::string_view text, const Progress& so_far) {
          output.write(text, so_far);
          note_share(progress, backend::JobProgress::Stage::writing, so_far);
        };
        if (content == Content::npz) {
          write_entries_npz(index, plan, write);
        } else {
          backend::write_entries(index, plan, write);
        }
        return backend::entries_within(index, plan.bounds);
      });
  output.finish();
  print_last_line(fmt::format("wrote {}, {:.1f} s, {} {}", counted(kmers, "k-mer"), seconds,
                              shown_output(options.output), format_bytes(output.bytes_written())));
  return kDone;
}

}  // namespace

void add_dump_command(Application& application) {
  auto options = std::make_shared<DumpOptions>();
  CLI::App& command = application.add_command(
      "dump",
      "Print every k-mer with its count.\n"
      "One line per k-mer: the k-mer, a tab, its count; in the order of the file unless --sort is given.",
      R"(NumPy:
  kmers   2k bits of each, A = 0, C = 1, G = 2, T = 3, the first base highest:
          one uint64, above k = 32 two, the upper one first (shape n, 2)
  counts  of each, uint64
  k       a number

Arrow and Parquet:
  A column kmer of texts, and count, uint64.

Examples:
  warpmer dump sample.wmi | head
  warpmer dump --sort --min-count 2 -o sample.tsv sample.wmi
  warpmer dump --format fasta sample.wmi > sample.fa
  warpmer dump -o sample.npz sample.wmi
  warpmer dump --sort -o sample.parquet sample.wmi
)");
  command.add_flag("--sort", options->plan.sorted, "In lexicographic order of the k-mers.");
  command
      .add_option("--format", options->format,
                  "tsv: KMER<TAB>COUNT; fasta: a record >COUNT for each k-mer; npz: NumPy arrays, see NumPy; "
                  "arrow, parquet: tables of columns. Default: tsv, or what the output's name ends in: .npz, "
                  ".arrow, .parquet.")
      ->type_name("tsv|fasta|npz|arrow|parquet");
  add_count_range_flags(command, options->plan.bounds);
  add_text_output_flag(command, options->output);
  add_threads_flag(command, options->plan.resources.threads);
  add_memory_flag(command, options->plan.resources.memory_bytes)
      ->description(
          "With --sort: memory the whole process may use, for example 16G or 512M (binary units); a hard "
          "cap. What does not fit at once is sorted in several passes over the index; all at once takes 8 "
          "bytes for each k-mer (16 where k is above 32). Default: half of what the cgroup, Slurm, "
          "ulimit and the machine allow and have free.");
  add_progress_flag(command, options->progress);
  add_index_argument(command, options->index);
  application.on_run(command, [options] { return run_dump(*options); });
}

}  // namespace warpmer::cli
