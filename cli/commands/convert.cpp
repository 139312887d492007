/// `warpmer convert`: databases of other programs in, an index out, and the other way round.

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/messages.h"
#include "cli/framework/printable.h"
#include "cli/output/progress.h"
#include "file/byte_file.h"
#include "formats/format.h"
#include "formats/kmc_database.h"
#include "host/limits.h"
#include "index/index_file.h"
#include "index/index_start.h"
#include "jobs/export_job.h"
#include "jobs/import_job.h"

namespace warpmer::cli {
namespace {

using formats::Format;

struct ConvertOptions {
  std::string input;
  std::string to_name;
  jobs::ImportOptions import;  ///< with what all directions need: output, threads, memory
  std::uint64_t counter_bytes = 0;
  bool forward = false;
  bool saturate = false;
  bool progress = false;
  // These follow from the options above.
  Format from = Format::wmi;
  Format to = Format::wmi;
};

bool is_text(Format format) { return format == Format::tsv || format == Format::fasta; }

/// A pipe, or a file that is open already.
bool can_be_read_only_once(const std::string& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  return file::descriptor_in_path(path) >= 0 ||
         (std::filesystem::is_other(status) && !formats::is_kmc_database(path));
}

/// UsageError when a path names a file and a KMC database. An index is taken: it is often what the database
/// beside it was made of, or into.
void check_is_one(const std::string& input) {
  std::error_code ignored;
  const std::string database = input + ".kmc_pre";
  if (!std::filesystem::is_regular_file(input, ignored) || index::is_index_file(input)) return;
  if (!formats::is_kmc_database(database)) return;
  throw UsageError(fmt::format(
      "{} is a file, and with {} also a KMC database; name {} for the database, or rename the file",
      printable(input), printable(database), printable(database)));
}

/// InputError for an index of positions.
void check_has_counts(const std::string& input) {
  if (!index::is_position_file(input)) return;
  throw InputError(fmt::format(
      "{}: an index of positions, such as 'warpmer positions' makes, which has no counts; convert "
      "the index that 'warpmer count' makes",
      printable(input)));
}

/// Returns the format of the input. A pipe cannot be inspected before it is read: it has the format that the
/// output has not.
Format input_format(const ConvertOptions& options, std::optional<Format> to) {
  if (!can_be_read_only_once(options.input)) {
    check_is_one(options.input);
    check_has_counts(options.input);
    return formats::detect_format(options.input);
  }
  if (!to) to = formats::format_of_path(options.import.output);
  return to.value_or(Format::wmi) == Format::wmi ? Format::tsv : Format::wmi;
}

std::optional<Format> wanted_format(const ConvertOptions& options) {
  if (options.to_name.empty()) return std::nullopt;
  const std::optional<Format> to = formats::format_of_name(options.to_name);
  if (!to) {
    throw UsageError(
        fmt::format("--to must be one of {}, not '{}'", formats::format_names(), options.to_name));
  }
  return to;
}

void choose_formats(ConvertOptions& options) {
  const std::optional<Format> wanted = wanted_format(options);
  options.from = input_format(options, wanted);
  const std::optional<Format> to = wanted ? wanted : formats::format_of_path(options.import.output);
  if (!to && options.from == Format::wmi) {
    using formats::Content;
    formats::check_ending(options.import.output,
                          {Content::kmc, Content::kff, Content::jellyfish, Content::fastk, Content::yak,
                           Content::tsv, Content::fasta});
    throw UsageError(fmt::format("convert to what? Add --to {}", formats::format_names()));
  }
  options.to = to.value_or(Format::wmi);
  if (options.from == options.to || (is_text(options.from) && options.to != Format::wmi)) {
    if (options.to != Format::kmc) check_output(options.import.output, {options.input});
    throw UsageError(
        options.from == Format::wmi
            ? fmt::format("{} is an index already; choose another format with --to", options.input)
            : fmt::format("{} to {} goes by way of an index: convert it --to wmi first",
                          formats::name_of(options.from), formats::name_of(options.to)));
  }
}

void check_flags(const ConvertOptions& options) {
  if (options.forward && !is_text(options.from)) {
    throw UsageError(
        fmt::format("--forward is for text; a {} file says itself whether its k-mers are canonical",
                    formats::name_of(options.from)));
  }
  if (options.import.canonical && options.forward)
    throw UsageError("--canonical and --forward exclude each other");
  if ((options.import.sum_duplicates || options.import.canonical) && options.to != Format::wmi) {
    throw UsageError(fmt::format("{} is for making an index",
                                 options.import.canonical ? "--canonical" : "--sum-duplicates"));
  }
  const formats::FormatLimits limits =
      options.to == Format::wmi ? formats::FormatLimits() : formats::limits_of(options.to);
  const std::uint32_t most = limits.most_count_bytes;
  if (limits.caps && options.counter_bytes > 0) {
    throw UsageError(fmt::format("{} has counters of one width, up to {}; leave out --counter-bytes",
                                 formats::name_of(options.to), limits.largest_count));
  }
  if ((options.saturate || options.counter_bytes > 0) && most == 0 && !limits.caps) {
    throw UsageError(
        fmt::format("{} has no counters of limited width; leave out --saturate and --counter-bytes",
                    formats::name_of(options.to)));
  }
  if (options.counter_bytes > most) {
    throw UsageError(fmt::format("--counter-bytes must be from 1 to {} for {}, not {}", most,
                                 formats::name_of(options.to), options.counter_bytes));
  }
}

void check_output_path(const ConvertOptions& options) {
  const std::string& output = options.import.output;
  formats::check_ending(output, options.to);
  for (const std::string& file : formats::files_of(output, options.to))
    check_output(file, formats::files_of(options.input, options.from));
  if (output != "-" || is_text(options.to)) return;
  if (options.to != Format::wmi) {
    throw UsageError(
        fmt::format("{} cannot be written to standard output; use -o FILE", formats::name_of(options.to)));
  }
  check_index_output(output);
}

/// The largest count that the output can hold.
std::uint64_t largest_count(const ConvertOptions& options) {
  const std::uint64_t of_format = formats::limits_of(options.to).largest_count;
  if (options.counter_bytes == 0 || options.counter_bytes >= 8) return of_format;
  return std::min(of_format, (std::uint64_t{1} << (8 * options.counter_bytes)) - 1);
}

std::unique_ptr<formats::KmerSource> open_source(const ConvertOptions& options) {
  return formats::open_source(options.input, options.from, !options.forward,
                              threads_or_default(options.import.resources.threads));
}

void export_kmers(const ConvertOptions& options) {
  const formats::FormatLimits limits = formats::limits_of(options.to);
  const jobs::ExportOptions job{.order = limits.order,
                                .largest_count = largest_count(options),
                                .saturate = options.saturate || limits.caps,
                                .resources = resources_or_default(options.import.resources)};
  const auto sink_for = [&](formats::StreamFacts facts) {
    facts.largest_count = std::min(facts.largest_count, job.largest_count);
    return formats::make_sink(options.import.output, options.to, facts,
                              static_cast<std::uint32_t>(options.counter_bytes), job.resources.threads);
  };
  jobs::ExportReport report;
  if (options.from == Format::wmi) {
    const index::IndexFile index(options.input, host::memory_left(job.resources.memory_bytes));
    formats::check_kmers(options.to, index.params().k, index.params().canonical);
    report = jobs::export_index(index, job, *sink_for(jobs::facts_of(index)));
  } else if (job.order != formats::KmerOrder::any) {
    throw UsageError(
        fmt::format("{} wants its k-mers sorted: convert {} to an index (--to wmi), and that to {}",
                    formats::name_of(options.to), options.input, formats::name_of(options.to)));
  } else {
    const auto source = open_source(options);
    report = jobs::copy_kmers(*source, options.input, job, *sink_for(source->facts()));
  }
  std::string capped;
  if (report.saturated > 0) {
    capped = fmt::format(", {} of {} counts were larger than {} and are capped there",
                         with_thousands(report.saturated), with_thousands(report.kmers),
                         with_thousands(job.largest_count));
  }
  print_last_line(fmt::format("{}{}, {}", counted(report.kmers, "distinct k-mer"), capped,
                              shown_output(options.import.output)));
}

void import_kmers(const ConvertOptions& options) {
  jobs::ImportOptions job = options.import;
  job.input = options.input == "-" ? "standard input" : options.input;
  job.provenance.inputs = {options.input};
  const auto source = open_source(options);
  const ProgressStyle style = progress_style(options.progress);
  const auto [report, seconds] = run_with_meter(
      style, [&](backend::JobProgress& progress) { return jobs::run_import(*source, job, progress); });
  print_last_line(fmt::format("{}, {:.1f} s, peak memory {}, {} {}",
                              counted(report.totals.stored_distinct, "distinct k-mer"), seconds,
                              format_bytes(report.peak_resident_bytes), shown_output(job.output),
                              format_bytes(report.index_bytes)));
}

int run_convert(ConvertOptions options) {
  if (options.import.output.empty()) throw UsageError("where to write the result? Add -o FILE");
  choose_formats(options);
  check_flags(options);
  check_output_path(options);
  options.to == Format::wmi ? import_kmers(options) : export_kmers(options);
  return kDone;
}

constexpr const char* kExamples = R"(Examples:
  warpmer convert -o sample.wmi kmc_out
  warpmer convert --to kmc -o kmc_out sample.wmi
  warpmer convert -o sample.jf sample.wmi
  warpmer convert --canonical -o merged.wmi merged.jf
  warpmer convert --to kmc --counter-bytes 1 --saturate -o small sample.wmi
  warpmer convert -o sample.wmi counts.tsv.gz
  meryl print sample.meryl | warpmer convert -o sample.wmi -
)";

}  // namespace

void add_convert_command(Application& application) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App& command = application.add_command(
      "convert",
      "Convert between an index and the k-mer databases of other programs.\n"
      "These are databases of KMC and of Jellyfish, KFF files, tables of FastK, counts of yak, and text. "
      "Counts are kept as they are; what a format cannot hold is an error, but that FastK's and yak's files "
      "are capped, as these programs do it (at 32767 and 1023). What the input is, its content says. KMC "
      "databases are named by what their two files have in common (X for X.kmc_pre and X.kmc_suf); X.ktab "
      "names FastK's hidden files, .X.ktab.1 and so on, too. Text is a line KMER<TAB>COUNT or a "
      "FASTA record >COUNT for each k-mer, and may be compressed with gzip; its k-mers are made canonical, "
      "unless --forward is given, and one that comes twice, or once from each strand, is an error, unless "
      "--sum-duplicates is given. Counters of other programs stop where they are full (KMC's, by default, at "
      "255): "
      "how many k-mers of the input stand there, and may occur more often, is said on standard error. (A "
      "limit "
      "below that, as KMC's -cs may be, is not in its files.)",
      kExamples);
  command
      .add_option("--to", options->to_name,
                  "Format of the output. Default: by what the name of the output ends in (.wmi, .kff, .jf, "
                  ".kmc_pre, .ktab, .yak, .tsv, .fa; the last two also with .gz, compressed); else wmi, an "
                  "index, unless "
                  "the input is one.")
      ->type_name(formats::format_names());
  command
      .add_option(
          "-o,--output", options->import.output,
          "The file to write; - for standard output, for text and indexes. It gets its name when it is "
          "complete.")
      ->type_name("FILE");
  add_whole_number(command, "--counter-bytes", 1, 8, options->counter_bytes,
                   "Width of the counters in the output. Default: as narrow as the largest count allows.");
  command.add_flag("--saturate", options->saturate,
                   "Write counts that are too large for the output as the largest it can hold, and say how "
                   "many they were, if there are any.");
  command.add_flag("--forward", options->forward,
                   "Keep the k-mers of a text as they are; they are not canonical.");
  command.add_flag("--canonical", options->import.canonical,
                   "Make k-mers canonical where the input does not say that they are: 'jellyfish merge' "
                   "forgets to say so.");
  command.add_flag("--sum-duplicates", options->import.sum_duplicates,
                   "Add up the counts of a k-mer that comes several times.");
  add_threads_flag(command, options->import.resources.threads);
  add_memory_flag(command, options->import.resources.memory_bytes)
      ->description(
          "Memory the whole process may use, for example 16G or 512M (binary units); a hard cap. Default: "
          "nine tenths of what the cgroup, Slurm and the machine allow and have free, and half of it for "
          "what comes out of an index.");
  add_progress_flag(command, options->progress);
  command
      .add_option(
          "INPUT", options->input,
          "Index, database or text. Standard input (-) and pipes are text when the output is an index, else "
          "an index.")
      ->required()
      ->type_name("FILE");
  options->import.provenance = application.provenance();
  application.on_run(command, [options] { return run_convert(*options); });
}

}  // namespace warpmer::cli
