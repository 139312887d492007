/// `warpmer hetmers`: pairs of k-mers that differ in one base, for smudgeplot.

#include "backend/indexes/hetmers.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/warning.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/messages.h"
#include "cli/framework/text_output.h"
#include "cli/output/progress.h"
#include "cli/pictures/picture_files.h"
#include "cli/pictures/smudge_plot.h"
#include "host/limits.h"
#include "host/tmp_directory.h"
#include "index/index_file.h"
#include "stats/index_spectrum.h"

namespace warpmer::cli {
namespace {

using backend::PairFrequencies;

struct HetmersOptions {
  std::string index;
  std::string output;
  PicturePaths pictures;
  std::optional<std::uint64_t> min_count;
  bool at_any_base = false;
  bool progress = false;
  std::string tmp_directory;
  host::Resources resources;
};

/// No pair has a smaller count than a larger one.
constexpr std::uint64_t kMostMinCount = PairFrequencies::kMostSum / 2;
/// The least count of other programs where nothing is known.
constexpr std::uint64_t kUsualMinCount = 4;

void check(const HetmersOptions& options, const index::IndexFile& index) {
  if (!index.params().canonical) {
    throw UsageError("'" + options.index +
                     "' was counted with --forward, and the two of a pair may be read from either strand; "
                     "count the reads without it");
  }
  if (!options.at_any_base && index.params().k % 2 == 0) {
    throw UsageError(
        fmt::format("k = {} is even, so a k-mer of '{}' has no middle base; give --any, or count with "
                    "an odd k",
                    index.params().k, options.index));
  }
}

/// Returns the least count of a k-mer that is no error, as asked or above the error cut-off.
std::uint64_t min_count_of(const HetmersOptions& options, stats::IndexSpectrum& spectrum) {
  const bool is_empty = spectrum.index().totals().stored_distinct == 0;
  if (is_empty)
    warn(fmt::format("there is no k-mer in {}, so there are no pairs", shown_input(options.index)));
  if (options.min_count || is_empty) return options.min_count.value_or(kUsualMinCount);
  if (const auto solid = spectrum.model().solid_count()) return std::min(*solid, kMostMinCount);
  warn(
      fmt::format("'{}' has no clear peak of genomic k-mers, so k-mers with a count below {} are taken for "
                  "errors; give --min-count",
                  options.index, kUsualMinCount));
  return kUsualMinCount;
}

/// Warns where the index lacks k-mers that pairs may be of.
void warn_of_left_out(const HetmersOptions& options, const index::Totals& totals, std::uint64_t least) {
  const bool lacks_counts =
      totals.left_out() > 0 && (totals.min_count > least || totals.max_count < PairFrequencies::kMostSum);
  if (totals.are_chosen == 0 && !lacks_counts) return;
  warn(fmt::format("'{}' {}, so pairs may be missing, and others may have a third k-mer beside them",
                   options.index,
                   totals.are_chosen != 0 ? "has only chosen k-mers"
                                          : "lacks k-mers that --min-count or --max-count left out"));
}

/// Returns a picture as SVG.
std::string smudges_svg(stats::IndexSpectrum& spectrum, const PairFrequencies& pairs) {
  const index::IndexFile& index = spectrum.index();
  const std::optional<stats::GenomeEstimate>& estimate = spectrum.model().estimate;
  SmudgePlot plot{fmt::format("{}, k = {}", index.path(), index.params().k),
                  [&](const SmudgePlot::VisitPairs& visit) { pairs.for_each(visit); },
                  {}};
  if (estimate) plot.coverage = estimate->heterozygous_coverage.value_or(estimate->kmer_coverage);
  return draw_smudges(plot, Svg::Frame::file);
}

int run_hetmers(const HetmersOptions& options) {
  check_output(options.output, {options.index});
  check_output(options.pictures.svg, {options.index});
  check_output(options.pictures.png, {options.index});
  formats::check_ending(options.output, {formats::Content::tsv});
  check_pictures(options.pictures);
  const host::Resources resources = resources_or_default(options.resources);
  const index::IndexFile index(options.index, host::memory_left(resources.memory_bytes));
  check(options, index);
  TextOutput output(options.output);  // now, so that a path that cannot be written costs no run
  PictureFiles pictures(options.pictures);
  stats::IndexSpectrum spectrum(index, resources.threads);
  const backend::HetmerPlan plan{options.at_any_base, min_count_of(options, spectrum), resources,
                                 host::tmp_directory(options.tmp_directory, options.output)};
  warn_of_left_out(options, index.totals(), plan.min_count);
  const auto [pairs, seconds] = run_with_meter(
      progress_style(options.progress),
      [&](backend::JobProgress& progress) { return backend::find_hetmers(index, plan, progress); });
  pairs.for_each([&](std::uint32_t smaller, std::uint32_t larger, std::uint64_t number) {
    output.print("{}\t{}\t{}\n", smaller, larger, number);
  });
  output.finish();
  if (pictures.any()) pictures.write(smudges_svg(spectrum, pairs));
  print_last_line(fmt::format("found {} of k-mers with counts from {} on in {}, {:.1f} s, {}",
                              counted(pairs.total(), "pair"), plan.min_count, options.index, seconds,
                              shown_output(options.output)));
  return kDone;
}

}  // namespace

void add_hetmers_command(Application& application) {
  auto options = std::make_shared<HetmersOptions>();
  CLI::App& command = application.add_command(
      "hetmers",
      "Count pairs of k-mers that differ in one base, for smudgeplot.\n"
      "Where the haplotypes of a genome differ in one base, so do the k-mers that have it. How often both of "
      "a "
      "pair were read tells the ploidy of the genome and how its haplotypes came about. A pair is two k-mers "
      "that differ in the middle base alone, or with --any in any one base, and of which neither differs so "
      "from a third one.",
      R"(Columns, a line for each two counts that there are, without a header:
  the smaller count of a pair, the larger one, the number of such pairs
  This is the .smu file of 'smudgeplot hetmers', for 'smudgeplot all'.
  As there, each pair is counted on both strands, so that numbers are even but
  for pairs whose strands are the same; and pairs whose counts sum up to more
  than 1000 are left out. With --any and equal --min-count (-L there) the files
  are equal.

Picture:
  That of --svg and --png is smudgeplot's: from left to right the smaller count
  by the sum of both, upwards the sum, darker cells for more pairs. Names such
  as AAB stand where k-mers are in so many haplotypes, where 1n, the count of
  k-mers of one, can be estimated ('warpmer stats').

Examples:
  warpmer count -k 31 -o reads.wmi reads_1.fq.gz reads_2.fq.gz
  warpmer hetmers --any reads.wmi -o pairs.smu --svg pairs.svg
  warpmer hetmers reads.wmi --min-count 12 -o pairs.smu.txt
  smudgeplot all -o plot pairs.smu
)");
  command.add_flag(
      "--any", options->at_any_base,
      "The two of a pair may differ in any one base, instead of the middle one, which only an odd "
      "k has.");
  add_whole_number(
      command, "--min-count,-L", 1, kMostMinCount, options->min_count,
      "K-mers with a smaller count are taken for errors. Default: one more than the error cut-off, the count "
      "at the bottom of the valley before the first peak (see 'warpmer stats'); 4 where there is no clear "
      "one, with a warning.");
  add_text_output_flag(command, options->output);
  command.add_option("--svg", options->pictures.svg, "Also draw the pairs by their counts, as SVG.")
      ->type_name("FILE");
  command.add_option("--png", options->pictures.png, "Also draw them as PNG.")->type_name("FILE");
  add_threads_flag(command, options->resources.threads);
  add_memory_flag(command, options->resources.memory_bytes)
      ->description(
          "Memory the whole process may use, for example 16G or 512M (binary units); a hard cap. K-mers for "
          "which there is no room at once are compared in several passes over the index. Default: half of "
          "what the cgroup, Slurm, ulimit and the machine allow and have free.");
  add_tmp_directory_flag(command, options->tmp_directory);
  add_progress_flag(command, options->progress);
  add_index_argument(command, options->index);
  application.on_run(command, [options] { return run_hetmers(*options); });
}

}  // namespace warpmer::cli
