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
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/printable.h"
#include "cli/output/report.h"
#include "index/index_file.h"
#include "index/known_totals.h"
#include "serve/remote_table.h"
#include "stats/spectrum_model.h"

namespace warpmer::cli {
namespace {

using stats::GenomeEstimate;
using stats::SpectrumModel;

/// The k-mers of an index or of a server's table.
struct Counted {
  const index::IndexParams& params;
  const index::Totals& totals;
  const index::Histogram& histogram;

  [[nodiscard]] SpectrumModel model() const { return stats::model_spectrum(params, totals, histogram); }
};

Counted counted_in(const index::IndexFile& index) {
  return {index.params(), index.totals(), index.histogram()};
}

Json json_of(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }
Json whole_json_of(const std::optional<double>& value) {
  return value ? Json(std::llround(*value)) : Json(nullptr);
}

Json runner_up_json(const std::optional<stats::OtherPloidy>& other) {
  if (!other) return nullptr;
  return {{"ploidy", other->ploidy},
          {"kmer_coverage", other->kmer_coverage},
          {"genome_size", whole_json_of(other->genome_size)},
          {"bic_difference", other->worse_by}};
}

/// Every name is there; what there is no estimate of is null.
Json spectrum_json(const SpectrumModel& model) {
  Json peaks = Json::array();
  for (const stats::SpectrumPeak& peak : model.peaks)
    peaks.push_back({{"count", peak.count}, {"kmers", peak.kmers}});
  Json foreign = Json::array();
  for (const stats::ForeignGenome& one : model.foreign)
    foreign.push_back({{"coverage", one.coverage}, {"kmers", std::llround(one.kmers)}});
  const auto of = [&](auto member) -> std::optional<double> {
    return model.estimate ? std::optional<double>((*model.estimate).*member) : std::nullopt;
  };
  const auto maybe = [&](std::optional<double> GenomeEstimate::*member) {
    return model.estimate ? (*model.estimate).*member : std::nullopt;
  };
  return {{"is_clear", model.estimate.has_value()},
          {"reason", model.estimate ? Json(nullptr) : Json(model.reason)},
          {"error_cutoff", model.error_cutoff ? Json(*model.error_cutoff) : Json(nullptr)},
          {"peaks", peaks},
          {"count_divisor", model.count_divisor},
          {"ploidy", model.estimate ? Json(model.estimate->ploidy) : Json(nullptr)},
          {"kmer_coverage", json_of(of(&GenomeEstimate::kmer_coverage))},
          {"heterozygous_coverage", json_of(maybe(&GenomeEstimate::heterozygous_coverage))},
          {"heterozygosity", json_of(maybe(&GenomeEstimate::heterozygosity))},
          {"genome_size", whole_json_of(maybe(&GenomeEstimate::genome_size))},
          {"repeat_fraction", json_of(maybe(&GenomeEstimate::repeat_fraction))},
          {"error_kmers", whole_json_of(maybe(&GenomeEstimate::error_kmers))},
          {"error_distinct", whole_json_of(maybe(&GenomeEstimate::error_distinct))},
          {"error_rate", json_of(maybe(&GenomeEstimate::error_rate))},
          {"dispersion", json_of(of(&GenomeEstimate::dispersion))},
          {"fit", json_of(of(&GenomeEstimate::fit))},
          {"foreign", foreign},
          {"is_ambiguous", model.runner_up ? Json(model.runner_up->is_possible) : Json(nullptr)},
          {"runner_up", runner_up_json(model.runner_up)}};
}

std::string whole_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.0f}", *value) : std::string("unknown");
}
std::string percent_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.3g} %", 100 * *value) : std::string("unknown");
}

void print_runner_up(const stats::OtherPloidy& other, TextOutput& output) {
  const char* const fit = other.is_equal      ? "fits about as well"
                          : other.is_possible ? "fits worse, but may be right"
                                              : "fits worse";
  print_field(output, other.is_possible ? "or ploidy" : "next ploidy",
              fmt::format("{}, {} (BIC + {:.1f}): k-mer coverage {:.4g}, genome size {}", other.ploidy, fit,
                          other.worse_by, other.kmer_coverage, whole_text(other.genome_size)));
}

void print_estimate(const SpectrumModel& model, TextOutput& output) {
  const GenomeEstimate& estimate = *model.estimate;
  const bool is_open = model.runner_up && model.runner_up->is_possible;
  print_field(output, "ploidy",
              fmt::format("{}{}", estimate.ploidy, is_open ? ", not certain: see below" : ""));
  print_field(output, "k-mer coverage", fmt::format("{:.4g}", estimate.kmer_coverage));
  if (estimate.heterozygous_coverage) {
    print_field(output, "  of a haplotype", fmt::format("{:.4g}", *estimate.heterozygous_coverage));
    print_field(output, "heterozygosity", percent_text(estimate.heterozygosity));
  }
  print_field(output, "genome size", whole_text(estimate.genome_size));
  print_field(output, "  repeats", percent_text(estimate.repeat_fraction));
  for (const stats::ForeignGenome& foreign : model.foreign) {
    print_field(output, "not of the genome",
                fmt::format("{:.0f} k-mers of coverage {:.4g}", foreign.kmers, foreign.coverage));
  }
  print_field(output, "error k-mers", whole_text(estimate.error_kmers));
  print_field(output, "  distinct", whole_text(estimate.error_distinct));
  print_field(output, "error rate", percent_text(estimate.error_rate));
  print_field(output, "model fit", percent_text(estimate.fit));
  if (model.runner_up) print_runner_up(*model.runner_up, output);
}

/// Returns the meaning of a divisor that all counts have.
std::string divisor_text(std::uint64_t divisor) {
  if (divisor == 2) return "every count is even: was each file counted twice?";
  return fmt::format("every count is a multiple of {0}: was each file counted {0} times?", divisor);
}

void print_spectrum(const SpectrumModel& model, TextOutput& output) {
  if (model.count_divisor > 1) print_field(output, "beware", divisor_text(model.count_divisor));
  if (model.error_cutoff) print_field(output, "error cut-off", *model.error_cutoff);
  std::vector<std::uint64_t> counts;
  for (const stats::SpectrumPeak& peak : model.peaks) counts.push_back(peak.count);
  if (!counts.empty()) print_field(output, "peaks", fmt::format("{}", fmt::join(counts, ", ")));
  if (model.estimate) {
    print_estimate(model, output);
  } else {
    print_field(output, "k-mer coverage", "no estimate: " + model.reason);
  }
}

/// Returns the begin, before what is said of where k-mers are kept.
Json counted_json(const Counted& counted) {
  Json json = {{"k", counted.params.k}, {"strand", strand_name(counted.params.canonical)}};
  json.update(totals_json(counted.totals));
  return json;
}

Json stats_json(const index::IndexFile& index, unsigned threads) {
  Json json = counted_json(counted_in(index));
  json["file_bytes"] = index.file_bytes();
  const BytesPerKmer bytes = bytes_per_kmer(index, threads);
  json["bytes_per_kmer"] = bytes.all;
  json["bytes_per_kmer_parts"] = {
      {"bases", bytes.bases}, {"counts", bytes.counts}, {"directory", bytes.directory}};
  json["spectrum"] = spectrum_json(counted_in(index).model());
  return json;
}

Json stats_json(const serve::RemoteTable& table, const Counted& counted) {
  Json json = counted_json(counted);
  json["memory_bytes"] = table.memory_bytes();
  json["table"] = table.describe();
  json["spectrum"] = spectrum_json(counted.model());
  return json;
}

std::string filter_text(const index::Totals& totals) {
  std::string text = fmt::format("at least {}", totals.min_count);
  return totals.max_count == UINT64_MAX ? text : text + fmt::format(", at most {}", totals.max_count);
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

void print_counted(const Counted& counted, TextOutput& output) {
  const index::Totals& totals = counted.totals;
  print_field(output, "k", counted.params.k);
  print_field(output, "strand", strand_name(counted.params.canonical));
  const auto text = [](bool is_known, std::uint64_t number) {
    return is_known ? fmt::format("{}", number) : std::string("unknown");
  };
  print_field(output, "sequences", text(index::knows_reads(totals), totals.records));
  print_field(output, "bases", text(index::knows_reads(totals), totals.bases));
  print_field(output, "k-mers counted", text(index::knows_counted(totals), totals.counted_kmers));
  print_field(output, "  distinct", text(index::knows_counted(totals), totals.counted_distinct));
  print_field(output, "  unique", text(index::knows_counted(totals), totals.counted_unique));
  print_field(output, "counts kept", filter_text(totals));
  print_field(output, "k-mers stored", totals.stored_kmers);
  print_field(output, "  distinct", totals.stored_distinct);
  print_field(output, "largest count", totals.largest_count);
}

void print_stats(const index::IndexFile& index, unsigned threads, TextOutput& output) {
  print_counted(counted_in(index), output);
  print_field(output, "file bytes", index.file_bytes());
  print_bytes(bytes_per_kmer(index, threads), output);
  print_spectrum(counted_in(index).model(), output);
}

struct StatsOptions {
  std::string server;  ///< instead of indexes
  ReportFlags report;
  bool tsv = false;
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
Json named_json(const index::IndexFile& index, unsigned threads) {
  Json json = {{"file", index.path()}};
  json.update(stats_json(index, threads));
  return json;
}

int print_of_server(const StatsOptions& options) {
  check_only_server(options.server, options.indexes);
  const serve::RemoteTable table(options.server);
  const auto [k, canonical] = table.kmers();
  const index::IndexParams params = backend::params_for(k, canonical);
  TextOutput output(options.report.output);
  const serve::TableContent content = table.content();
  const Counted counted{params, content.totals, content.histogram};
  if (options.tsv) {
    Json json = {{"server", options.server}};
    json.update(stats_json(table, counted));
    print_table({json}, output);
  } else if (options.report.json) {
    output.write(json_text(stats_json(table, counted)));
  } else {
    print_counted(counted, output);
    print_field(output, "memory bytes", table.memory_bytes());
    print_field(output, "table", table.describe());
    print_spectrum(counted.model(), output);
  }
  output.finish();
  return kDone;
}

int run_stats(const StatsOptions& options) {
  if (options.tsv && options.report.json) throw UsageError("--tsv and --json are two formats; give one");
  check_ending(options.report, options.tsv ? formats::Content::tsv : formats::Content::text);
  if (!options.server.empty()) return print_of_server(options);
  check_standard_input({{"as an index", options.indexes}});
  std::vector<std::unique_ptr<index::IndexFile>> indexes;
  for (const std::string& path : options.indexes) indexes.push_back(std::make_unique<index::IndexFile>(path));
  const unsigned threads = threads_or_default(options.threads);
  TextOutput output(options.report.output);
  if (options.tsv || (options.report.json && indexes.size() > 1)) {
    std::vector<Json> all;
    all.reserve(indexes.size());
    for (const auto& index : indexes) all.push_back(named_json(*index, threads));
    if (options.tsv) {
      print_table(all, output);
    } else {
      output.write(json_text(Json(all)));
    }
  } else if (options.report.json) {
    output.write(json_text(stats_json(*indexes.front(), threads)));
  } else {
    for (std::size_t i = 0; i < indexes.size(); ++i) {
      if (i > 0) output.write("\n");
      if (indexes.size() > 1) print_field(output, "file", printable(indexes[i]->path()));
      print_stats(*indexes[i], threads, output);
    }
  }
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
  warpmer stats --server run.sock
)");
  add_report_flags(command, options->report);
  command.add_flag("--tsv", options->tsv, "Print a table: a header, and a line for each index.");
  add_threads_flag(command, options->threads);
  CLI::Option* const indexes =
      command
          .add_option("INDEX", options->indexes, "Indexes written by 'warpmer count'; - for standard input.")
          ->required()
          ->type_name("FILE");
  add_server_flag(command, options->server, indexes);
  application.on_run(command, [options] { return run_stats(*options); });
}

}  // namespace warpmer::cli
