/// `warpmer stats`: the numbers of an index.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/index_params.h"
#include "base/error.h"
#include "cli/arguments/asked_table.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/index_inputs.h"
#include "cli/arguments/sample_names.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/printable.h"
#include "cli/output/multiqc.h"
#include "cli/output/report.h"
#include "cli/output/spectrum_report.h"
#include "index/index_file.h"
#include "serve/remote_table.h"
#include "stats/spectrum_model.h"

namespace warpmer::cli {
namespace {

/// The k-mers of an index or of a server's table.
struct Counted {
  const index::IndexParams& params;
  const index::Totals& totals;
  stats::SpectrumModel model;
};

Counted counted_in(const index::IndexFile& index, unsigned threads) {
  return {index.params(), index.totals(), stats::model_spectrum(index, threads)};
}

/// Returns the begin, before what is said of where k-mers are kept.
Json counted_json(const Counted& counted) {
  Json json = {{"k", counted.params.k}, {"strand", strand_name(counted.params.canonical)}};
  json.update(totals_json(counted.totals));
  return json;
}

Json stats_json(const index::IndexFile& index, const Counted& counted, unsigned threads) {
  Json json = counted_json(counted);
  json["file_bytes"] = index.file_bytes();
  const BytesPerKmer bytes = bytes_per_kmer(index, threads);
  json["bytes_per_kmer"] = bytes.all;
  json["bytes_per_kmer_parts"] = {
      {"bases", bytes.bases}, {"counts", bytes.counts}, {"directory", bytes.directory}};
  json["spectrum"] = spectrum_json(counted.model);
  return json;
}

Json stats_json(const serve::RemoteTable& table, const Counted& counted) {
  Json json = counted_json(counted);
  json["memory_bytes"] = table.memory_bytes();
  json["table"] = table.describe();
  json["spectrum"] = spectrum_json(counted.model);
  return json;
}

/// Sums are rounded, not parts, so that those that are printed add up.
void print_bytes(const BytesPerKmer& bytes, TextOutput& output) {
  const auto hundredths = [](double number) { return std::llround(100 * number); };
  const auto print = [&](const char* name, long long number) {
    print_field(output, name, fmt::format("{}.{:02}", number / 100, number % 100));
  };
  const long long bases = hundredths(bytes.bases), kmers = hundredths(bytes.bases + bytes.counts),
                  all = hundredths(bytes.all);
  print("bytes per k-mer", all);
  print("  bases", bases);
  print("  counts", kmers - bases);
  print("  directory", all - kmers);
}

void print_stats(const index::IndexFile& index, const Counted& counted, unsigned threads,
                 TextOutput& output) {
  print_fields(counted_fields(counted.params, counted.totals), output);
  print_field(output, "file bytes", index.file_bytes());
  print_bytes(bytes_per_kmer(index, threads), output);
  print_fields(spectrum_fields(counted.model), output);
}

Json column_json(const char* title, const char* description, const char* format, const char* suffix = "") {
  return {{"title", title}, {"description", description}, {"format", format}, {"suffix", suffix}};
}

/// A table for MultiQC with no rows.
MultiqcSection stats_section() {
  MultiqcSection section;
  section.id = "warpmer_stats";
  section.name = "K-mers and genome";
  section.description = "What the k-mers that warpmer counted say of the genome.";
  section.headers = {
      {"distinct", column_json("Distinct k-mers", "Distinct k-mers in the index", "{:,.0f}")},
      {"coverage",
       column_json("Coverage", "Mean count of k-mers that all haplotypes have once", "{:,.1f}", "X")},
      {"ploidy", column_json("Ploidy", "Haplotypes that differ", "{:,.0f}")},
      {"genome_size", column_json("Genome size", "Bases of one haplotype", "{:,.0f}", " bp")},
      {"heterozygosity", column_json("Het.", "Bases at which haplotypes differ", "{:,.3f}", "%")},
      {"repeats", column_json("Repeats", "Share of the genome in repeated k-mers", "{:,.1f}", "%")},
      {"error_rate", column_json("Errors", "Wrong bases of the reads", "{:,.3f}", "%")},
      {"fit",
       column_json("Fit", "Share of the k-mers around the peaks that the model explains", "{:,.1f}", "%")}};
  return section;
}

/// Adds a row; what is not known has no cell.
void add_row(const std::string& name, const Counted& counted, MultiqcSection& section) {
  Json& row = section.data[name] = {{"distinct", counted.totals.stored_distinct}};
  const auto& estimate = counted.model.estimate;
  if (!estimate) return;
  row["coverage"] = estimate->kmer_coverage;
  row["ploidy"] = estimate->ploidy;
  if (estimate->genome_size) row["genome_size"] = std::llround(*estimate->genome_size);
  const auto add_percent = [&](const char* column, const std::optional<double>& value) {
    if (value) row[column] = 100 * *value;
  };
  add_percent("heterozygosity", estimate->heterozygosity);
  add_percent("repeats", estimate->repeat_fraction);
  add_percent("error_rate", estimate->error_rate);
  add_percent("fit", estimate->fit);
}

struct StatsOptions {
  std::string server;  ///< instead of indexes
  ReportFlags report;
  bool tsv = false;
  std::string multiqc;
  unsigned threads = 0;
  std::vector<std::string> indexes;
};

/// A cell of a table; empty: null. A list is joined by commas.
std::string cell_of(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return printable(value.get<std::string>());
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  return value.dump();
}

/// The cells of one index: what JSON has, with the names of inner objects before theirs, and of lists how
/// many they are.
void add_cells(const std::string& prefix, const Json& json, std::vector<std::string>& names,
               std::vector<std::string>& cells) {
  for (const auto& [name, value] : json.items()) {
    if (value.is_object()) {
      add_cells(prefix + name + "_", value, names, cells);
    } else if (name == "runner_up" && value.is_null()) {
      for (const char* const part : {"ploidy", "kmer_coverage", "genome_size", "bic_difference"}) {
        names.push_back(prefix + name + "_" + part);
        cells.emplace_back();
      }
    } else {
      names.push_back(prefix + name);
      cells.push_back(value.is_array() ? fmt::format("{}", value.size()) : cell_of(value));
    }
  }
}

void print_table(const std::vector<Json>& all, TextOutput& output) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<std::string> names, cells;
    add_cells("", all[i], names, cells);
    if (i == 0) output.print("{}\n", fmt::join(names, "\t"));
    output.print("{}\n", fmt::join(cells, "\t"));
  }
}

/// With the index's file as first member.
Json named_json(const index::IndexFile& index, const Counted& counted, unsigned threads) {
  Json json = {{"file", index.path()}};
  json.update(stats_json(index, counted, threads));
  return json;
}

int print_of_server(const StatsOptions& options) {
  check_only_server(options.server, options.indexes);
  const serve::RemoteTable table(options.server);
  const auto [k, canonical] = table.kmers();
  const index::IndexParams params = backend::params_for(k, canonical);
  TextOutput output(options.report.output);
  MultiqcFile multiqc(options.multiqc);
  const serve::TableContent content = table.content();
  const Counted counted{
      params, content.totals,
      stats::model_spectrum(params, content.totals, content.histogram, threads_or_default(options.threads))};
  if (options.tsv) {
    Json json = {{"server", options.server}};
    json.update(stats_json(table, counted));
    print_table({json}, output);
  } else if (options.report.json) {
    output.write(json_text(stats_json(table, counted)));
  } else {
    print_fields(counted_fields(params, counted.totals), output);
    print_field(output, "memory bytes", table.memory_bytes());
    print_field(output, "table", table.describe());
    print_fields(spectrum_fields(counted.model), output);
  }
  if (multiqc.is_wanted()) {
    MultiqcSection section = stats_section();
    add_row(printable(options.server), counted, section);
    multiqc.write(section);
  }
  multiqc.finish();
  output.finish();
  return kDone;
}

void write_multiqc(const std::vector<std::string>& paths, const std::vector<Counted>& counted,
                   MultiqcFile& multiqc) {
  const std::vector<std::string> names = sample_names(paths, false);
  MultiqcSection section = stats_section();
  for (std::size_t i = 0; i < counted.size(); ++i) add_row(names[i], counted[i], section);
  multiqc.write(section);
}

int run_stats(StatsOptions options) {
  if (options.tsv && options.report.json) throw UsageError("--tsv and --json are two formats; give one");
  check_ending(options.report, options.tsv ? formats::Content::tsv : formats::Content::text);
  if (!options.server.empty()) return print_of_server(options);
  expand_index_lists(options.indexes, {options.report.output, options.multiqc});
  std::vector<std::unique_ptr<index::IndexFile>> indexes;
  for (const std::string& path : options.indexes) indexes.push_back(std::make_unique<index::IndexFile>(path));
  const unsigned threads = threads_or_default(options.threads);
  TextOutput output(options.report.output);
  MultiqcFile multiqc(options.multiqc);
  std::vector<Counted> counted;
  counted.reserve(indexes.size());
  for (const auto& index : indexes) counted.push_back(counted_in(*index, threads));
  if (options.tsv || (options.report.json && indexes.size() > 1)) {
    std::vector<Json> all;
    for (std::size_t i = 0; i < indexes.size(); ++i)
      all.push_back(named_json(*indexes[i], counted[i], threads));
    if (options.tsv) {
      print_table(all, output);
    } else {
      output.write(json_text(Json(all)));
    }
  } else if (options.report.json) {
    output.write(json_text(stats_json(*indexes.front(), counted.front(), threads)));
  } else {
    for (std::size_t i = 0; i < indexes.size(); ++i) {
      if (i > 0) output.write("\n");
      if (indexes.size() > 1) print_field(output, "file", printable(indexes[i]->path()));
      print_stats(*indexes[i], counted[i], threads, output);
    }
  }
  if (multiqc.is_wanted()) write_multiqc(options.indexes, counted, multiqc);
  multiqc.finish();
  output.finish();
  return kDone;
}

}  // namespace

void add_stats_command(Application& application) {
  auto options = std::make_shared<StatsOptions>();
  CLI::App& command = application.add_command(
      "stats",
      "Print how many k-mers an index holds, and what they say about a genome.\n"
      "Counted: every occurrence in the input, before --min-count and --max-count of 'warpmer count'. "
      "Stored: what these filters kept. Unique: k-mers that occur exactly once.",
      R"(The index:
  bytes per k-mer  those of the whole file, by the distinct k-mers
    bases         strings of k-mers, with their lengths (k up to 12: hashes)
    counts        exact ones, of any size
    directory     all else: where what is, and what the file is

The genome, estimated from how many k-mers occur how often:
  error cut-off   k-mers of up to this count are mostly sequencing errors
  peaks           counts that stand out, of which the largest is fitted
  ploidy          haplotypes that differ, 1 to 6; 1 also if all are the same
  k-mer coverage  mean count of k-mers that all haplotypes have once
    of a haplotype  that of k-mers of one of several haplotypes
  heterozygosity  bases at which haplotypes differ, per base
  genome size     of one haplotype, in bases: k-mers that are no errors, by
                  the k-mer coverage
    repeats       share of it in k-mers that it has more than once
  not of the genome  peaks that are no multiple of the coverage: contaminants,
                  organelles; they are not counted into the genome size
  error k-mers    occurrences of k-mers that sequencing errors made
  error rate      of bases
  model fit       share of the k-mers around the peaks that the model explains
  next ploidy     the second-best ploidy, and how much worse it fits (difference
                  of the Bayesian information criterion); "or ploidy" if it fits
                  about as well, so that the spectrum cannot tell
  beware          every count is even, or a multiple of another number
  "no estimate" where no peak is clear, as in a genome's own k-mers or at low
  coverage; "unknown" what --min-count or --max-count left out, and, of a
  converted database, what it does not say.

Of several indexes:
  One after the other, each under its name; with --json an array of objects,
  each with the name, as "file", first.

Examples:
  warpmer stats sample.wmi
  warpmer stats --json sample.wmi
  warpmer stats --tsv *.wmi > table.tsv
  warpmer stats --multiqc samples_mqc.json *.wmi
  warpmer stats --server run.sock
)");
  add_report_flags(command, options->report);
  command.add_flag("--tsv", options->tsv, "Print a table: a header, and a line for each index.");
  add_multiqc_flag(command, options->multiqc, "a table");
  add_threads_flag(command, options->threads);
  CLI::Option* const indexes =
      command
          .add_option(
              "INDEX", options->indexes,
              "Indexes written by 'warpmer count'; @LIST for a file that names one on each line, - for "
              "standard input.")
          ->required()
          ->type_name("FILE");
  add_server_flag(command, options->server, indexes);
  application.on_run(command, [options] { return run_stats(*options); });
}

}  // namespace warpmer::cli
