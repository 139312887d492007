/// `warpmer matrix`: which samples have which k-mers, or how often.

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/index_inputs.h"
#include "cli/arguments/sample_names.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/printable.h"
#include "cli/output/progress.h"
#include "cli/output/table_schemas.h"
#include "file/output/buffered_output.h"
#include "formats/table/table_format.h"
#include "formats/table/table_text.h"
#include "formats/text/ending.h"
#include "host/tmp_directory.h"
#include "io/text/repeated_inputs.h"
#include "jobs/matrix_job.h"

namespace warpmer::cli {
namespace {

struct MatrixCommand {
  IndexInputs inputs;
  std::string old;
  jobs::MatrixOptions job;
  std::string output;
  std::string format;  ///< empty: as the output's name has it
  bool progress = false;
};

/// Returns the content of a table that is no text; UsageError for what is no format, or not the output's.
std::optional<formats::Content> table_of(const MatrixCommand& command) {
  using formats::Content;
  const std::string format = formats::settled_format(command.format, command.output, "tsv");
  const std::optional<Content> table = formats::table_named(format);
  if (!table && format != "tsv")
    throw UsageError(fmt::format("--format must be tsv, npz, arrow or parquet, not '{}'", printable(format)));
  if (table) {
    formats::check_table(command.output, *table);
  } else {
    formats::check_ending(command.output, {Content::tsv});
  }
  return table;
}

/// Writes the matrix that a job makes, as text or as a table.
void write_matrix(jobs::MatrixOptions& job, std::optional<formats::Content> content, const std::string& path,
                  file::BufferedOutput& output, backend::JobProgress& progress) {
  const auto write = [&](std::string_view bytes, const Progress& so_far) { output.write(bytes, so_far); };
  if (!content) return jobs::write_matrix(job, progress, write);
  std::optional<formats::TableText> table;
  job.begin_table = [&](std::uint32_t k, const std::vector<std::string>& samples) {
    const formats::TableSchema schema = samples_table(k, samples);
    table.emplace(schema, formats::make_table_writer(*content, schema, host::tmp_directory({}, path), write));
  };
  jobs::write_matrix(job, progress,
                     [&](std::string_view rows, const Progress& so_far) { table->write(rows, so_far); });
  table->finish();
}

int run_matrix(MatrixCommand command) {
  jobs::MatrixOptions& job = command.job;
  const auto check_read_once = [&](const std::vector<std::string>& indexes) {
    check_standard_input({{"for --append", {command.old}}, {"as an index", indexes}});
  };
  check_read_once(command.inputs.arguments);  // a list from standard input among them
  const std::optional<formats::Content> table = table_of(command);
  const std::uint64_t memory_bytes = job.resources.memory_bytes;
  complete(command.inputs, {command.output}, memory_bytes, job.inputs, job.of_inputs);
  check_read_once(job.inputs);  // and what lists name
  job.compress = formats::is_compressed_name(command.output);
  std::optional<formats::MatrixFile> old;
  if (!command.old.empty()) {
    old.emplace(command.old, threads_or_default(job.resources.threads),
                most_bytes_of_names(memory_bytes) / 8);
    job.old = &*old;
    if (job.presence && !old->format().presence) {
      throw UsageError(
          fmt::format("{} has counts; leave --presence out, or make another matrix", old->shown()));
    }
  }
  io::warn_of_repeats(job.inputs);
  job.samples = sample_names(job.inputs, false, old ? old->samples() : std::vector<std::string>(), {"kmer"});
  file::BufferedOutput output(command.output);
  backend::JobProgress progress;
  {
    const ProgressMeter meter(progress, progress_style(command.progress));
    write_matrix(job, table, command.output, output, progress);
  }
  output.finish();
  return kDone;
}

}  // namespace

void add_matrix_command(Application& application) {
  auto command = std::make_shared<MatrixCommand>();
  CLI::App& app = application.add_command(
      "matrix",
      "Write a table of k-mers and samples: how often each k-mer is in each of several indexes.\n"
      "Tab-separated: a row for each k-mer that any index has, a column for each index, called by its file. "
      "Columns can be added later without the indexes of the others.",
      R"(Format:
  The first line begins with #warpmer-matrix and says k, strand, values and
  --min-samples; the second has the names of the columns: kmer, then samples.
  Rows are in the order of indexes: by shard, then by minimizer. Readers of
  tables skip the first line:
    pandas  read_csv(file, sep="\t", skiprows=1, index_col="kmer")
    R       read.delim(file, skip = 1, row.names = "kmer", check.names = FALSE)

NumPy:
  kmers    2k bits of each, A = 0, C = 1, G = 2, T = 3, the first base highest:
           one uint64, above k = 32 two, the upper one first (shape n, 2)
  counts   uint64, shape (n, samples); 0 and 1 with --presence
  samples  their names
  k        a number

Arrow and Parquet:
  Columns kmer (text), and one of uint64 for each sample.

Adding samples:
  With --append, the rows of a matrix are copied and get a number for each of
  the indexes, and k-mers that are new get rows of their own, with zeros for
  the samples that were there: the same text as a matrix of all of them made
  at once. A matrix made with --min-samples is refused, because the k-mers it
  left out are not known any more.

Examples:
  warpmer matrix -o counts.tsv.gz a.wmi b.wmi c.wmi
  warpmer matrix --presence --min-samples 2 -o shared.tsv @genomes.txt
  warpmer matrix --append counts.tsv.gz -o four.tsv.gz d.wmi
  warpmer matrix --input-min-count 2,1 reads.wmi genome.wmi | head
  warpmer matrix -o counts.npz @genomes.txt
)");
  add_index_inputs(app, command->inputs);
  app.add_option(
         "--append", command->old,
         "Add the indexes to this matrix, written by 'warpmer matrix', plain or compressed; - for standard "
         "input.")
      ->type_name("FILE");
  app.add_flag(
      "--presence", command->job.presence,
      "Write 1 for a sample that has the k-mer instead of its count. With --append, what the matrix has.");
  add_whole_number(app, "--min-samples", 1, UINT32_MAX, command->job.min_samples,
                   "Leave out k-mers that fewer than N samples have. Default: 1.");
  app.add_option("--format", command->format,
                 "tsv: text, see Format; npz: NumPy arrays, see NumPy; arrow, parquet: tables of columns. "
                 "Default: tsv, or what the output's name ends in: .npz, .arrow, .parquet.")
      ->type_name("tsv|npz|arrow|parquet");
  add_text_output_flag(app, command->output);
  add_resource_flags(app, command->job.resources);
  add_progress_flag(app, command->progress);
  application.on_run(app, [command] { return run_matrix(*command); });
}

}  // namespace warpmer::cli
