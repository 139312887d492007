/// `warpmer filter`: keeps or drops reads by their k-mers.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/empty_input.h"
#include "base/error.h"
#include "cli/arguments/asked_table.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/messages.h"
#include "cli/framework/ordered_team.h"
#include "cli/output/filtered_reads.h"
#include "cli/output/index_summary.h"
#include "cli/output/progress.h"
#include "cli/output/read_output.h"
#include "cli/output/report.h"
#include "io/compress/bgzf_writer.h"
#include "jobs/device_choice.h"

namespace warpmer::cli {
namespace {

struct FilterOptions {
  std::string index;
  std::string server;  ///< instead of an index
  std::vector<std::string> reads;
  std::vector<std::string> first, second;  ///< mates
  bool interleaved = false;
  bool by_order = false;
  std::optional<std::string> pairs;
  std::optional<std::uint64_t> min_kmers, max_kmers;
  std::optional<double> min_fraction, max_fraction;
  FilterPlan plan;  ///< but for what `plan_of` fills in
  std::optional<std::uint64_t> min_length;
  ReadOutputOptions form;
  std::string output, output_1, output_2;
  std::string stats;
  bool progress = false;
  io::ReadingOptions reading;
  DeviceFlags device;
  unsigned threads = 0;
  std::string command_line;

  [[nodiscard]] bool is_paired() const { return interleaved || !first.empty(); }
  /// Reads, or first mates.
  [[nodiscard]] const std::vector<std::string>& inputs() const { return first.empty() ? reads : first; }
  [[nodiscard]] std::vector<std::string> all_inputs() const {
    std::vector<std::string> all = inputs();
    all.insert(all.end(), second.begin(), second.end());
    return all;
  }
  /// One, or that of first and that of second mates.
  [[nodiscard]] std::vector<std::string> outputs() const {
    if (output_1.empty()) return {output.empty() ? "-" : output};
    return {output_1, output_2};
  }
};

io::Pairing pairing_of(const FilterOptions& options) {
  if (!options.first.empty()) return io::Pairing::two_files;
  return options.interleaved ? io::Pairing::interleaved : io::Pairing::single;
}

void check_inputs(const FilterOptions& options) {
  if (options.first.empty() != options.second.empty()) throw UsageError("-1 and -2 go together");
  if (!options.first.empty() && (!options.reads.empty() || options.interleaved))
    throw UsageError("-1 and -2 have all the reads: no others, and no --interleaved");
  if (options.pairs && *options.pairs != "any" && *options.pairs != "both")
    throw UsageError(fmt::format("--pairs must be any or both, not '{}'", *options.pairs));
  if ((options.by_order || options.pairs) && !options.is_paired()) {
    throw UsageError(fmt::format("{} needs pairs: -1 and -2, or --interleaved",
                                 options.by_order ? "--by-order" : "--pairs"));
  }
  if (options.inputs().empty()) throw UsageError("no reads given: name files, or - for standard input");
}

/// By whichever names; reads would be their own mates.
void check_mates(const FilterOptions& options) {
  const auto is_same = [](const std::string& a, const std::string& b) {
    std::error_code ignored;
    return a == b || std::filesystem::equivalent(a, b, ignored);
  };
  if (!options.first.empty() && std::ranges::equal(options.first, options.second, is_same))
    throw UsageError("-1 and -2 name the same files");
  if (options.first.size() != options.second.size()) {
    throw UsageError(
        fmt::format("-1 names {}, and -2 names {}: each file of first mates has one of second mates",
                    counted(options.first.size(), "file"), counted(options.second.size(), "file")));
  }
}

void check_read_once(const FilterOptions& options) {
  check_standard_input({{"as the index", {options.index}},
                        {"for -1", options.first},
                        {"for -2", options.second},
                        {"as reads", options.reads}});
}

void check_outputs(const FilterOptions& options) {
  if (options.output_1.empty() != options.output_2.empty()) throw UsageError("--out1 and --out2 go together");
  if (!options.output_1.empty()) {
    if (!options.output.empty()) throw UsageError("-o and --out1, --out2 exclude each other");
    if (!options.is_paired()) throw UsageError("--out1 and --out2 need pairs: -1 and -2, or --interleaved");
  }
}

/// Expands all lists, and checks that no file that is read is an output.
void expand_all_lists(FilterOptions& options) {
  std::vector<std::string> outputs = options.outputs();
  outputs.push_back(options.stats);
  for (const std::string& output : options.outputs()) check_read_output(output, options.form);
  check_read_once(options);  // a list from standard input among them
  for (auto* inputs : {&options.first, &options.second, &options.reads}) expand_lists(*inputs, outputs);
  check_read_once(options);  // and what lists name
  check_mates(options);
}

void check_rule(const FilterOptions& options) {
  check_count_range(options.plan.rule.counts);
  const std::uint64_t least = options.min_kmers.value_or(0);
  if (options.max_kmers && least > *options.max_kmers) {
    throw UsageError(fmt::format("--min-kmers {} is larger than --max-kmers {}: no read would pass", least,
                                 *options.max_kmers));
  }
  if (options.max_fraction && options.min_fraction.value_or(0) > *options.max_fraction) {
    throw UsageError(fmt::format("--min-fraction {} is larger than --max-fraction {}: no read would pass",
                                 *options.min_fraction, *options.max_fraction));
  }
  if (options.plan.invert && (options.plan.trim || options.plan.mask)) {
    throw UsageError(
        "--invert writes the reads that do not pass, and --trim and --mask work on those that do");
  }
  if (options.min_length && !options.plan.trim) throw UsageError("--min-length needs --trim");
}

FilterPlan plan_of(const FilterOptions& options, std::uint32_t k) {
  FilterPlan plan = options.plan;
  plan.k = k;
  const bool has_threshold =
      options.min_kmers || options.max_kmers || options.min_fraction || options.max_fraction;
  plan.rule.min_kmers = options.min_kmers.value_or(has_threshold ? 0 : 1);
  plan.rule.max_kmers = options.max_kmers.value_or(plan.rule.max_kmers);
  plan.rule.min_fraction = options.min_fraction.value_or(plan.rule.min_fraction);
  plan.rule.max_fraction = options.max_fraction.value_or(plan.rule.max_fraction);
  plan.pairing = pairing_of(options);
  plan.needs_both = options.pairs == "both";
  plan.min_length = options.min_length.value_or(1);
  plan.min_base_quality = options.reading.min_base_quality;
  plan.names_only = options.form.names_only;
  plan.two_outputs = !options.output_1.empty();
  return plan;
}

/// Bases of low quality are no matter of reading here: what is written has them as they were.
io::InputOptions input_options(const FilterOptions& options, unsigned threads) {
  io::InputOptions input;
  input.reading = options.reading;
  input.reading.min_base_quality.reset();
  input.threads = threads;
  input.keep_alignments = io::ProgramLine{"warpmer", WARPMER_VERSION, options.command_line};
  return input;
}

/// The result for one group of reads, on its way to the outputs.
struct FilteredGroup {
  ReadBlock blocks[2];
  FilterTotals totals;
  std::uint64_t input_bytes = 0;
};

/// Returns the kind of reads of a group that are written to the first output, or to that of second mates.
formats::Content content_of(const io::ReadGroup& group, bool is_second) {
  using formats::Content;
  const bool is_from_second = is_second && !group.second.pieces.empty();
  const io::Batch& batch = is_from_second ? group.second : group.first;
  if (batch.bam_header) return Content::bam;
  const std::size_t first = is_second && !is_from_second ? 1 : 0;  // interleaved
  if (batch.pieces.size() <= first) return Content::unknown;
  return batch.is_fastq(batch.pieces[first]) ? Content::fastq : Content::fasta;
}

FilteredGroup filter_group(GroupFilter& filter, const io::ReadGroup& group,
                           const std::vector<std::unique_ptr<ReadOutput>>& outputs) {
  const bool are_alignments = group.first.bam_header != nullptr;
  if (are_alignments && outputs.size() > 1) {
    throw UsageError(
        fmt::format("{} has alignments, whose mates belong in one file: use -o", group.first.file));
  }
  KeptReads kept = filter.filter(group);
  FilteredGroup result;
  result.totals = kept.totals;
  result.input_bytes = group.input_bytes();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    result.blocks[i] = {outputs[i]->pack(std::move(kept.text[i]), are_alignments), group.first.file,
                        group.first.bam_header, content_of(group, i == 1)};
  }
  return result;
}

FilterTotals filter_reads(const FilterOptions& options, const FilterPlan& plan, const backend::Lookup& lookup,
                          const std::vector<std::unique_ptr<ReadOutput>>& outputs, unsigned threads,
                          backend::JobProgress& progress) {
  io::InputOptions input = input_options(options, threads);
  // For the same bytes whatever the number of threads.
  input.one_caller = std::ranges::any_of(outputs, [](const auto& output) { return output->is_compressed(); });
  io::ReadPairs reads(options.inputs(), options.second, plan.pairing, input, options.by_order);
  FilterTotals totals;
  Progress so_far{0, reads.alike_bytes()};
  const auto filter = [&, each = GroupFilter(plan, lookup)](const io::ReadGroup& group) mutable {
    return filter_group(each, group, outputs);
  };
  const auto write = [&](const FilteredGroup& result) {
    totals += result.totals;
    so_far.done += result.input_bytes;
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i]->write(result.blocks[i], so_far);
    note_share(progress, backend::JobProgress::Stage::answering, so_far);
  };
  work_in_order<io::ReadGroup>(reads, OrderedTeam(lookup, threads), filter, write);
  return totals;
}

Json report_json(const FilterOptions& options, const std::string& table, const FilterTotals& totals,
                 unsigned threads, double seconds) {
  return {{"version", WARPMER_VERSION},
          {"command_line", options.command_line},
          {"index", table},
          {"inputs", options.all_inputs()},
          {"outputs", options.outputs()},
          {"threads", threads},
          {"wall_seconds", seconds},
          {"reads", totals.reads},
          {"reads_kept", totals.reads_kept},
          {"bases", totals.bases},
          {"bases_kept", totals.bases_kept},
          {"bases_masked", totals.bases_masked}};
}

void print_summary(const FilterTotals& totals, double seconds) {
  const double share = totals.reads == 0
                           ? 0
                           : 100 * static_cast<double>(totals.reads_kept) / static_cast<double>(totals.reads);
  print_last_line(fmt::format("kept {} of {} ({:.2f} %), {:.1f} s", with_thousands(totals.reads_kept),
                              counted(totals.reads, "read"), share, seconds));
}

/// With a server, what stands first is no index, but reads.
void take_server(FilterOptions& options) {
  check_server_device(options.server, options.device.device);
  if (options.server.empty() || options.index.empty()) return;
  check_no_index(options.server, options.index);
  options.reads.insert(options.reads.begin(), std::move(options.index));
  options.index.clear();
}

jobs::DeviceChoice device_for(const FilterOptions& options, const AskedTable& table, unsigned threads) {
  DeviceFlags flags = options.device;
  if (!options.server.empty()) flags.device = "cpu";
  return table.choose_device(flags, options.all_inputs(), threads);
}

int run_filter(FilterOptions options) {
  take_server(options);
  check_inputs(options);
  check_outputs(options);
  expand_all_lists(options);
  check_rule(options);
  const auto start = std::chrono::steady_clock::now();
  const unsigned threads = threads_or_default(options.threads);
  AskedTable table(options.index, options.server);
  const FilterPlan plan = plan_of(options, table.kmers().k);
  jobs::DeviceChoice device = device_for(options, table, threads);
  warn_of(device);
  const backend::Lookup& lookup =
      table.lookup({.lenient = options.reading.lenient, .threads = threads}, device);
  std::vector<std::unique_ptr<ReadOutput>> outputs;
  for (const std::string& path : options.outputs())
    outputs.push_back(std::make_unique<ReadOutput>(path, options.form));
  StatsFile stats(options.stats);

  const FilterTotals totals =
      run_with_meter(progress_style(options.progress), [&](backend::JobProgress& progress) {
        return filter_reads(options, plan, lookup, outputs, threads, progress);
      }).report;
  backend::warn_if_empty(backend::ReadTotals{totals.reads, totals.bases, totals.has_kmers ? 1u : 0u}, plan.k,
                         "the reads");
  io::warn_of_phred64(options.reading.qualities);
  for (const auto& output : outputs) output->complete();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  stats.write(report_json(options, table.name(), totals, threads, seconds));
  for (const auto& output : outputs) output->finish();
  stats.finish();
  print_summary(totals, seconds);
  return kDone;
}

void declare_rule_flags(CLI::App& command, FilterOptions& options) {
  add_whole_number(
      command, "--min-kmers", 0, UINT64_MAX, options.min_kmers,
      "A read passes with at least N of its k-mers found. Default: 1, when no threshold is given.");
  add_whole_number(command, "--max-kmers", 0, UINT64_MAX, options.max_kmers,
                   "A read passes with at most N of its k-mers found. Default: no limit.");
  add_fraction(
      command, "--min-fraction", options.min_fraction,
      "A read passes with at least this fraction of its k-mers found, from 0 to 1; one without k-mers "
      "has 0. Default: 0.");
  add_fraction(command, "--max-fraction", options.max_fraction,
               "A read passes with at most this fraction of its k-mers found. Default: 1.");
  add_count_range_flags(command, options.plan.rule.counts,
                        {.what = "Found are k-mers", .where = " in the index"});
  command.add_flag("-v,--invert", options.plan.invert,
                   "Drop the reads or pairs that pass, and keep those that do not.");
}

void declare_pair_flags(CLI::App& command, FilterOptions& options) {
  command.add_option("-1,--in1", options.first, "First mates; with -2, instead of READS.")->type_name("FILE");
  command.add_option("-2,--in2", options.second, "Second mates, in the order of the first ones.")
      ->type_name("FILE");
  command.add_flag("--interleaved", options.interleaved,
                   "In READS, each read is followed by its mate. In BAM, mates must stand together, as "
                   "'samtools collate' puts them.");
  command.add_flag("--by-order", options.by_order,
                   "Pair reads as they come, whatever their names. Else names of mates must be the same, or "
                   "end in 1 and 2 behind '/', '.', '_' or ':'.");
  command
      .add_option("--pairs", options.pairs,
                  "A pair passes when any of its two reads does, or only when both do. Default: any.")
      ->type_name("any|both");
}

void declare_edit_flags(CLI::App& command, FilterOptions& options) {
  command.add_flag(
      "--trim", options.plan.trim,
      "Cut off both ends of a read up to the first base that a found k-mer covers, qualities too.");
  add_whole_number(command, "--min-length", 1, UINT64_MAX, options.min_length,
                   "With --trim: a read that is shorter afterwards does not pass. Default: 1.");
  command.add_flag("--mask", options.plan.mask,
                   "Write N for every base that no found k-mer covers; qualities stay.");
}

void declare_output_flags(CLI::App& command, FilterOptions& options) {
  command
      .add_option("-o,--output", options.output,
                  "Write to FILE instead of standard output; it gets its name when it is complete. Pairs are "
                  "written interleaved.")
      ->type_name("FILE");
  command.add_option("--out1", options.output_1, "Write first mates here; with --out2, instead of -o.")
      ->type_name("FILE");
  command.add_option("--out2", options.output_2, "Write second mates here.")->type_name("FILE");
  command.add_flag("--names-only", options.form.names_only, "Write the names of reads, one a line.");
  command.add_flag("--bgzf", options.form.bgzf,
                   "Compress the output as BGZF, which every gzip program reads, on all threads. Default: "
                   "when its name ends in .gz, .bgz or .bgzf.");
  add_whole_number(command, "-l,--compress-level", 0, io::kHighestCompressionLevel,
                   options.form.compression_level,
                   fmt::format("Compression level of BGZF and BAM, from 0 (stored) to 9. Default: {}.",
                               io::kDefaultCompressionLevel));
  add_stats_flag(command, options.stats);
  add_progress_flag(command, options.progress);
}

}  // namespace

void add_filter_command(Application& application) {
  auto options = std::make_shared<FilterOptions>();
  options->command_line = application.command_line();
  CLI::App& command = application.add_command(
      "filter",
      "Keep or drop reads by their k-mers.\n"
      "A read passes by how many of its k-mers, or which fraction of them, are found in an index, perhaps "
      "only those with certain counts; k-mers with an N or another break are none. With several thresholds, "
      "all must hold; with none, one k-mer is enough. Reads keep their order, header and quality, and pairs "
      "stay together.",
      R"(Output:
  Reads are written in the form they come in: FASTQ as four lines with a bare
  '+', FASTA with each sequence in one line, BAM as BAM. SAM and CRAM become
  BAM; of alignments, only primary records are reads, and the others are left
  out. A name that ends in .gz, .bgz or .bgzf makes it BGZF.

Trimming and masking:
  A read of which --trim leaves nothing does not pass. If its mate does, and
  --pairs is any, it is written as one N. Of BAM, only reads that are not
  aligned are trimmed or masked. Tags with a value for each base follow:
    cut      kinetics of PacBio: fi fp ip pw, and ri rp from their other end
    left out of reads that change: MM ML MN OQ BQ E2 U2 CS CQ
    left out of reads that are cut: moves of Nanopore (mv), and every array
             or string of a tag that SAM does not reserve (such as dq or tp)
             with as many values as the read had bases
  In the header of FASTQ ('samtools fastq -T'), they are all left out.

Examples:
  warpmer filter contaminants.wmi -v reads.fq.gz -o clean.fq.gz
  warpmer filter genome.wmi -1 a_1.fq.gz -2 a_2.fq.gz --pairs both \
      --min-fraction 0.5 --out1 kept_1.fq.gz --out2 kept_2.fq.gz
  warpmer filter sample.wmi --min-count 3 --min-fraction 0.9 sample.fq > out.fq
  warpmer filter sample.wmi --min-count 3 --trim --min-length 50 sample.fq \
      -o trimmed.fq.gz
  warpmer filter --server contaminants.sock -v reads.fq.gz -o clean.fq.gz
  warpmer filter markers.wmi --names-only reads.bam > names.txt
  zcat reads.fq.gz | warpmer filter phage.wmi --interleaved - > phage.fq
)");
  add_server_flag(command, options->server, add_index_argument(command, options->index));
  command
      .add_option("READS", options->reads,
                  "Any input that 'warpmer count' takes, @LIST and - included, in this order.")
      ->type_name("FILE");
  declare_rule_flags(command, *options);
  declare_pair_flags(command, *options);
  declare_edit_flags(command, *options);
  declare_output_flags(command, *options);
  add_reading_flags(command, options->reading);
  add_threads_flag(command, options->threads);
  add_device_flags(command, options->device,
                   "auto, cpu, cuda for all GPUs that can be used, or cuda:N, or cuda:N,M, for those that "
                   "'warpmer devices' lists under these numbers. Default: auto, which is all GPUs that were "
                   "granted to the job, or the one with the most free memory where nothing was said; the CPU "
                   "where the reads are few.");
  application.on_run(command, [options] { return run_filter(*options); });
}

}  // namespace warpmer::cli
