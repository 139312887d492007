/// `warpmer histo`: how many distinct k-mers occur how often.

#include <memory>
#include <string>

#include "cli/application.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/flags.h"
#include "cli/printable.h"
#include "cli/text_output.h"
#include "core/error.h"
#include "index/index_file.h"

namespace warpmer::cli {
namespace {

struct HistoOptions {
  std::string index;
  std::string output;
  std::string format = "plain";
  bool dense = false;
};

/// `jellyfish histo` and `kat hist` have rows up to this count, and one for all larger ones, unless told
/// otherwise.
constexpr std::uint64_t kLastRow = 10000;

// One space between the columns: other tools split on it.
void print_row(TextOutput& output, std::uint64_t count, std::uint64_t kmers) {
  output.print("{} {}\n", count, kmers);
}

/// Rows of the counts there are, or of all from 1 to the largest. Returns the count after the last.
std::uint64_t print_rows(const index::Histogram& histogram, bool dense, TextOutput& output) {
  std::uint64_t next = 1;
  for (const auto& [count, kmers] : histogram) {
    for (; dense && next < count; ++next) print_row(output, next, 0);
    print_row(output, count, kmers);
    next = count + 1;
  }
  return next;
}

/// Rows from `first` to 10000, and one more for the k-mers that occur more often.
void print_capped_rows(const index::Histogram& histogram, std::uint64_t first, TextOutput& output) {
  auto at = histogram.begin();
  for (std::uint64_t count = first; count <= kLastRow; ++count) {
    const bool is_there = at != histogram.end() && at->first == count;
    print_row(output, count, is_there ? (at++)->second : 0);
  }
  std::uint64_t rest = 0;
  for (; at != histogram.end(); ++at) rest += at->second;
  print_row(output, kLastRow + 1, rest);
}

/// GenomeScope drops the last row, where jellyfish sums up; so there is one to be dropped, of a count that no
/// k-mer has.
void print_for_genomescope(const index::Histogram& histogram, TextOutput& output) {
  print_row(output, print_rows(histogram, true, output), 0);
}

void print_for_kat(const index::IndexFile& index, TextOutput& output) {
  const std::uint32_t k = index.params().k;
  const std::string path = printable(index.path());
  output.print("# Title:{}-mer spectra for: {}\n# XLabel:{}-mer frequency\n# YLabel:# distinct {}-mers\n", k,
               path, k, k);
  output.print("# Kmer value:{}\n# Input 1:{}\n###\n", k, path);
  print_capped_rows(index.histogram(), 1, output);
}

void check(const HistoOptions& options) {
  const std::string& format = options.format;
  if (format != "plain" && format != "genomescope" && format != "jellyfish" && format != "kat") {
    throw UsageError("--format must be plain, genomescope, jellyfish or kat, not '" + format + "'");
  }
  if (options.dense && format != "plain") {
    throw UsageError("--dense is for --format plain; the other formats have a row for every count");
  }
  check_output(options.output, {options.index});
}

int run_histo(const HistoOptions& options) {
  check(options);
  const index::IndexFile index(options.index);
  TextOutput output(options.output);
  if (options.format == "genomescope") {
    print_for_genomescope(index.histogram(), output);
  } else if (options.format == "jellyfish") {
    print_capped_rows(index.histogram(), 0, output);
  } else if (options.format == "kat") {
    print_for_kat(index, output);
  } else {
    print_rows(index.histogram(), options.dense, output);
  }
  output.finish();
  return kDone;
}

}  // namespace

void add_histo_command(Application& application) {
  auto options = std::make_shared<HistoOptions>();
  CLI::App& command = application.add_command(
      "histo",
      "Print how many distinct k-mers occur how often.\n"
      "One line per count: the count, a space, the number of distinct k-mers that occur so often. No header, "
      "no upper limit.",
      R"(Formats:
  plain        a row for each count that k-mers have
  genomescope  every count from 1 to the largest; a last row of no k-mers, as
               GenomeScope leaves out the last row
  jellyfish    what 'jellyfish histo -f' prints: every count from 0 to 10000,
               and row 10001 for all larger ones. MultiQC reads it from files
               whose names end in _jf.hist
  kat          what 'kat hist' writes: a header, every count from 1 to 10000,
               and row 10001 for all larger ones

Examples:
  warpmer histo sample.wmi
  warpmer histo --dense sample.wmi > all_counts.txt
  warpmer histo --format genomescope sample.wmi > sample.hist
  warpmer histo --format jellyfish -o sample_jf.hist sample.wmi  # for MultiQC
)");
  command.add_flag("--dense", options->dense,
                   "Print every count from 1 to the largest, also those that no k-mer has.");
  command.add_option("--format", options->format, "For whom the rows are; see Formats. Default: plain.")
      ->type_name("plain|genomescope|jellyfish|kat");
  add_text_output_flag(command, options->output);
  add_index_argument(command, options->index);
  application.on_run(command, [options] { return run_histo(*options); });
}

}  // namespace warpmer::cli
