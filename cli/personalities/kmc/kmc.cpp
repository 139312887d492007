/// `kmc`: counts k-mers into a KMC database or a KFF file, by the command line of KMC 3.2.4.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/arguments/flags.h"
#include "cli/framework/command_files.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/text_output.h"
#include "cli/output/progress.h"
#include "cli/personalities/changed_reads.h"
#include "cli/personalities/kmc/kmc_databases.h"
#include "cli/personalities/named_jobs.h"
#include "cli/personalities/option_table.h"
#include "cli/personalities/personality.h"
#include "cli/personalities/programs.h"
#include "formats/format.h"
#include "io/text/line_reader.h"
#include "jobs/count_job.h"
#include "jobs/temporary_index.h"

namespace warpmer::cli {
namespace {

using formats::Format;

struct KmcCall {
  std::uint32_t k = 25;
  DatabaseOutput database{.name = {}, .bounds = {2, formats::kNoKmcLimit}};
  std::uint64_t gigabytes = 0;
  std::uint64_t threads = 0;
  bool is_forward = false;
  bool is_multi_fasta = false;
  bool is_strict_memory = false;
  bool has_no_output = false;
  bool only_histogram = false;
  bool hides_progress = false;
  bool reads_databases = false;
  bool is_compressed = false;
  std::string json;
  std::string input, working_directory;

  [[nodiscard]] bool has_database() const noexcept { return !has_no_output && !only_histogram; }
  /// Returns the files that KMC removes when it writes a KFF file: a table of other k-mers of that name.
  [[nodiscard]] std::vector<std::string> replaced() const {
    if (!has_database() || database.format != Format::kff) return {};
    return formats::files_of(database.name, Format::kmc);
  }
  [[nodiscard]] std::vector<std::string> outputs() const {
    std::vector<std::string> files = replaced();
    if (has_database()) std::ranges::copy(database.files(), std::back_inserter(files));
    if (only_histogram) files = {database.name};
    if (!json.empty()) files.push_back(json);
    return files;
  }
};

constexpr std::uint64_t kGigabyte = 1'000'000'000;

OptionTable kmc_options(KmcCall& call) {
  using enum ValuePlace;
  const auto choose_format = [&call](const GivenOption& given) {
    call.database.format = given.name == "-okff" ? Format::kff : Format::kmc;
  };
  return {
      "kmc",
      {taken("-k", glued, "length of the k-mers; 25 unless given", store_number(call.k, 1, kMaxK)),
       taken("-m", glued, "gigabytes of memory, a hard cap; if more than there are, as WARPMER_MEMORY says",
             store_leading_number(call.gigabytes, 1)),
       taken("-sm", none, "say in the summary that memory is strict, which it always is",
             set_flag(call.is_strict_memory)),
       taken("-fm", none,
             "FASTA of several lines a record; known by content, but the summary says "
             "'sequences'",
             set_flag(call.is_multi_fasta)),
       ignored("-fa,-fq,-fbam", none, "format of the input, known by content"),
       taken("-fkmc", none, "inputs are databases of KMC; each of their k-mers is a read",
             set_flag(call.reads_databases)),
       taken("-hc", none, "compress homopolymers first", set_flag(call.is_compressed)),
       taken("-ci", glued, "keep k-mers that occur at least so often; 2 unless given",
             store_number(call.database.bounds.min)),
       taken("-cx", glued, "keep k-mers that occur at most so often; 1000000000 unless given",
             store_number(call.database.bounds.max)),
       taken("-cs", glued, "write larger counts as this; 255 unless given",
             store_number(call.database.largest_counter, 1)),
       taken("-b", none, "count k-mers as they are read, not of both strands", set_flag(call.is_forward)),
       taken("-t", glued, "threads", store_leading_number(call.threads, 1, UINT16_MAX)),
       taken("-okmc,-okff", none, "write OUTPUT.kmc_pre and .kmc_suf, or OUTPUT.kff", choose_format),
       taken("-w", none, "write no database", set_flag(call.has_no_output)),
       taken("-e", none, "write a histogram to OUTPUT, and no database; it is exact",
             set_flag(call.only_histogram)),
       taken("-j", glued, "write the summary as JSON to this file", store_text(call.json)),
       taken("-hp", none, "show no progress", set_flag(call.hides_progress)),
       ignored("-p", glued, "length of signatures"),
       ignored("-n", glued, "number of bins"),
       ignored("-sf,-sp,-sr,-smso,-smun,-smme", glued, "threads of a step"),
       ignored("-r", none, "no temporary files"),
       ignored("-v", none, "more to read on stderr"),
       ignored("--opt-out-size", none, "smaller databases")}};
}

std::string kmc_help() {
  KmcCall call;
  return fmt::format(
      "K-Mer Counter (KMC) ver. 3.2.4 (as done by warpmer " WARPMER_VERSION
      ")\n"
      "Usage:\n"
      "  kmc [options] INPUT OUTPUT WORKING_DIRECTORY\n"
      "  kmc [options] @LIST OUTPUT WORKING_DIRECTORY\n"
      "Options:\n{}"
      "WARPMER_DEVICE, WARPMER_MEMORY and WARPMER_THREADS are as --device, -m and -t of 'warpmer count'.\n",
      options_text(kmc_options(call)));
}

KmcCall read_kmc_call(const std::vector<std::string>& words) {
  KmcCall call;
  constexpr std::size_t kArguments = 3;
  const std::size_t options = take_options(kmc_options(call), words);
  const std::size_t others = words.size() - options;
  if (others < kArguments) {
    throw UsageError(
        fmt::format("kmc: it takes an input, the name of the output and a working directory, and "
                    "{} {} there (see 'kmc --help')",
                    others, others == 1 ? "is" : "are"));
  }
  say_ignored("kmc", std::span(words).subspan(options + kArguments));
  call.input = words[options];
  call.database.name = words[options + 1];
  call.working_directory = words[options + 2];
  if (call.database.bounds.min > call.database.bounds.max) {
    throw UsageError(fmt::format("kmc: -ci{} is larger than -cx{}: nothing would be kept",
                                 call.database.bounds.min, call.database.bounds.max));
  }
  return call;
}

/// Returns the databases that an input of -fkmc names; `outputs` may replace none of their files.
std::vector<std::string> databases_of(const std::string& input, const std::vector<std::string>& outputs) {
  std::vector<std::string> names = {input};
  if (input.starts_with('@')) {
    constexpr io::LineLimit kLongestName{4096, "this line is too long for the name of a database"};
    names.clear();
    io::LineReader lines(input.substr(1), 1, kLongestName);
    for (std::string_view name; lines.next_entry(name);) names.emplace_back(name);
  }
  std::vector<std::string> files;
  for (const std::string& name : names) {
    for (const std::string& file : NamedDatabase(name, PreferredFiles::kmc).files()) files.push_back(file);
  }
  check_files(outputs, files);
  return names;
}

jobs::CountOptions job_of(const KmcCall& call, const index::Provenance& provenance) {
  jobs::CountOptions job = named_count({call.k, !call.is_forward}, {call.input},
                                       named_resources(call.threads, call.gigabytes * kGigabyte), provenance);
  // The header of a database says 0 where -ci0 did.
  job.kept.min = call.only_histogram ? 1 : std::max<std::uint64_t>(call.database.bounds.min, 1);
  job.tmp_directory = call.working_directory;
  job.histogram_only = !call.has_database();
  const std::vector<std::string> outputs = call.outputs();
  if (call.reads_databases) {
    job.inputs = databases_of(call.input, outputs);
  } else {
    expand_lists(job.inputs, outputs, job.resources.memory_bytes);
    check_files(outputs, job.inputs);
  }
  return job;
}

/// Writes what is counted where -fkmc and -hc change it.
void write_changed(const KmcCall& call, const jobs::CountOptions& job, const std::string& path) {
  const SequenceChange change{.is_compressed = call.is_compressed};
  if (!call.reads_databases) {
    write_changed_reads(job.inputs, change, host::settled(job.resources), path);
    return;
  }
  std::vector<std::unique_ptr<formats::KmerSource>> sources;
  for (const std::string& name : job.inputs) {
    const NamedDatabase database(name, PreferredFiles::kmc);
    sources.push_back(database.open({database.header().min_count, database.header().max_count}));
  }
  write_kmers_as_reads(sources, change, path);
}

/// The numbers of the summary.
struct KmcSummary {
  std::uint64_t below = 0, above = 0, unique = 0, total = 0, sequences = 0, super_kmers = 0;

  [[nodiscard]] std::uint64_t counted() const noexcept { return unique - below - above; }
};

KmcSummary summary_of(const KmcCall& call, const jobs::CountReport& report, const index::Histogram& kept) {
  KmcSummary summary;
  summary.sequences = report.totals.records;
  if (call.only_histogram) return summary;  // as the original has it
  summary.unique = report.totals.counted_distinct;
  summary.total = report.totals.counted_kmers;
  summary.below = report.totals.counted_distinct - report.totals.stored_distinct;
  for (const auto& [count, kmers] : kept) summary.above += count > call.database.bounds.max ? kmers : 0;
  for (const backend::OwnerLoad& load : report.owner_loads) summary.super_kmers += load.super_kmers;
  return summary;
}

void print_summary(const KmcCall& call, const jobs::CountReport& report, const KmcSummary& summary) {
  const std::uint64_t spilled = report.spilled.written_bytes / 1'000'000;
  std::string text =
      fmt::format("1st stage: {:g}s\n2nd stage: {:g}s\n", report.read_seconds, report.count_seconds);
  if (call.is_strict_memory) text += "3rd stage: 0s\n";
  text +=
      fmt::format("Total    : {:g}s\nTmp size : {}MB\n", report.read_seconds + report.count_seconds, spilled);
  if (call.is_strict_memory) text += fmt::format("Tmp size strict memory : 0MB\nTmp total: {}MB\n", spilled);
  const auto row = [&text](std::string_view what, std::uint64_t number) {
    text += fmt::format("   {:<35}: {:>12}\n", what, number);
  };
  text += "\nStats:\n";
  row("No. of k-mers below min. threshold", summary.below);
  row("No. of k-mers above max. threshold", summary.above);
  row("No. of unique k-mers", summary.unique);
  row("No. of unique counted k-mers", summary.counted());
  row("Total no. of k-mers", summary.total);
  row(call.is_multi_fasta ? "Total no. of sequences" : "Total no. of reads", summary.sequences);
  row("Total no. of super-k-mers", summary.super_kmers);
  print_on_standard_output(text);
}

void write_json(const KmcCall& call, const jobs::CountReport& report, const KmcSummary& summary) {
  if (call.json.empty()) return;
  TextOutput output(call.json);
  output.print(
      "{{\n\t\"1st_stage\": \"{:g}s\",\n\t\"2nd_stage\": \"{:g}s\",\n\t\"Total\": \"{:g}s\",\n"
      "\t\"Tmp_size\": \"{}MB\",\n\t\"Stats\": {{\n",
      report.read_seconds, report.count_seconds, report.read_seconds + report.count_seconds,
      report.spilled.written_bytes / 1'000'000);
  output.print("\t\t\"#k-mers_below_min_threshold\": {},\n\t\t\"#k-mers_above_max_threshold\": {},\n",
               summary.below, summary.above);
  output.print("\t\t\"#Unique_k-mers\": {},\n\t\t\"#Unique_counted_k-mers\": {},\n", summary.unique,
               summary.counted());
  output.print("\t\t\"#Total no. of k-mers\": {},\n\t\t\"#Total_{}\": {},\n", summary.total,
               call.is_multi_fasta ? "sequences" : "reads", summary.sequences);
  output.print("\t\t\"#Total_super-k-mers\": {}\n\t}}\n}}\n", summary.super_kmers);
  output.finish();
}

/// A row for each count from 1 to the largest.
void write_histogram(const std::string& path, const index::Histogram& histogram) {
  TextOutput output(path);
  std::uint64_t next = 1;
  for (const auto& [count, kmers] : histogram) {
    for (; next < count; ++next) output.print("{}\t0\n", next);
    output.print("{}\t{}\n", count, kmers);
    next = count + 1;
  }
  output.finish();
}

void remove_replaced(const KmcCall& call) {
  std::error_code ignored;
  for (const std::string& path : call.replaced()) std::filesystem::remove(path, ignored);
}

}  // namespace

int run_kmc(const NamedCall& named) {
  if (asks_for_help(named) || named.words.front() == "-h") {
    print_on_standard_output(kmc_help());
    return kDone;
  }
  const KmcCall call = read_kmc_call(named.words);
  jobs::CountOptions job = job_of(call, named.provenance);
  const jobs::TemporaryIndex temporary(call.working_directory);
  job.output = temporary.path();
  std::optional<jobs::TemporaryIndex> changed;
  if (call.reads_databases || call.is_compressed) {
    changed.emplace(call.working_directory);
    write_changed(call, job, changed->path());
    job.inputs = {changed->path()};
  }
  job.device = named_device(job.inputs);
  const ProgressStyle style = call.hides_progress ? ProgressStyle::none : progress_style(false);
  const jobs::CountReport report = run_with_meter(style, [&](backend::JobProgress& progress) {
                                     return jobs::count(job, progress);
                                   }).report;
  index::Histogram kept = report.histogram;
  if (call.has_database()) {
    const index::IndexFile index(temporary.path());
    write_database(index, call.database, report.resources);
    remove_replaced(call);
    kept = index.histogram();
  }
  if (call.only_histogram) write_histogram(call.database.name, kept);
  const KmcSummary summary = summary_of(call, report, kept);
  write_json(call, report, summary);
  print_summary(call, report, summary);
  return kDone;
}

}  // namespace warpmer::cli
