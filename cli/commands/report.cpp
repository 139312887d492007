/// `warpmer report`: all that indexes say, on one page.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/indexes/copy_spectra.h"
#include "backend/indexes/similarity.h"
#include "base/number_text.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/index_inputs.h"
#include "cli/arguments/quantity.h"
#include "cli/arguments/sample_names.h"
#include "cli/framework/application.h"
#include "cli/framework/command_files.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/output/assembly_reads.h"
#include "cli/output/html_page.h"
#include "cli/output/multiqc.h"
#include "cli/output/progress.h"
#include "cli/output/spectrum_report.h"
#include "cli/pictures/heat_map.h"
#include "cli/pictures/spectrum_chart.h"
#include "host/limits.h"
#include "host/tmp_directory.h"
#include "index/index_file.h"
#include "io/text/repeated_inputs.h"
#include "jobs/compare_job.h"
#include "jobs/counted_assembly.h"
#include "stats/assembly_quality.h"
#include "stats/spectrum_model.h"

namespace warpmer::cli {
namespace {

/// A table of so many samples can still be read.
constexpr std::size_t kMostInTable = 40;
/// A command may have had any number of inputs.
constexpr std::size_t kMostInputsShown = 50;

struct ReportOptions {
  std::vector<std::string> indexes;
  std::vector<std::string> assemblies;
  std::optional<std::uint64_t> solid_count;
  io::ReadingOptions reading;
  host::Resources resources;
  std::string tmp_directory;
  std::string output;
  std::string multiqc;
  bool progress = false;
};

struct ReportedAssembly {
  std::string name;
  backend::CopySpectrum spectrum;
};

/// The part of the page about one index.
struct ReportedSample {
  std::string name;
  index::IndexFile index;
  stats::SpectrumModel model;
  std::optional<stats::SolidKmers> solid;
  std::vector<ReportedAssembly> assemblies;

  [[nodiscard]] SpectrumView view(bool is_log) const {
    return {is_log, last_to_see(index.histogram(), model)};
  }
};

/// Returns a number with commas, if it is a whole one.
std::string grouped(const std::string& text) {
  const auto number = whole_number(text);
  return number ? with_thousands(*number) : text;
}

HtmlTable fields_table(std::string caption, const ReportFields& fields) {
  HtmlTable table{std::move(caption), {}, {}, true};
  for (const auto& [label, value] : fields) {
    const bool is_part = label.starts_with("  ");  // blanks, which HTML would drop
    table.rows.push_back({is_part ? "\u2003" + label.substr(2) : label, grouped(value)});
  }
  return table;
}

/// Says in words how far the estimate is to be trusted.
std::string trust_text(const stats::SpectrumModel& model) {
  if (!model.estimate)
    return fmt::format("The spectrum tells neither coverage nor genome size: {}.", model.reason);
  const double fit = model.estimate->fit;
  std::string text =
      fmt::format("The model explains {:.3g} % of the k-mers around the peaks{}. ", 100 * fit,
                  fit < 0.9 ? ", which is little: look at the curve before you take its numbers" : "");
  if (!model.runner_up) return text + "No other ploidy could be fitted.";
  const stats::OtherPloidy& other = *model.runner_up;
  const std::string numbers = fmt::format(
      "coverage {:.4g}{}", other.kmer_coverage,
      other.genome_size
          ? fmt::format(", genome size {}",
                        with_thousands(static_cast<std::uint64_t>(std::llround(*other.genome_size))))
          : "");
  if (other.is_possible) {
    return text + fmt::format("Ploidy {} is not certain: ploidy {} ({}) {}.", model.estimate->ploidy,
                              other.ploidy, numbers,
                              other.is_equal ? "fits about as well" : "fits worse, but may be right");
  }
  return text + fmt::format(
                    "Ploidy {} is clear: the next one, {} ({}), fits worse by {:.0f} (Bayesian "
                    "information criterion).",
                    model.estimate->ploidy, other.ploidy, numbers, other.worse_by);
}

std::string mean_text(double value) { return fmt::format("{:.4g}", value); }

/// Returns what a chart shows as rows of numbers.
HtmlTable chart_table(const Chart& chart, std::string caption) {
  HtmlTable table{std::move(caption), {chart.step == 1 ? "count" : "counts"}, {}, false};
  for (const ChartSeries& series : chart.series) table.header.push_back(series.name);
  for (std::size_t i = 0; i < chart.bins; ++i) {
    const std::uint64_t first = chart.begin_of(i);
    std::vector<std::string> row{chart.step == 1 ? fmt::format("{}", first)
                                                 : fmt::format("{} to {}", first, first + chart.step - 1)};
    for (const ChartSeries& series : chart.series) {
      const double value = series.values[i];
      row.push_back(value == std::floor(value) ? with_thousands(static_cast<std::uint64_t>(value))
                                               : mean_text(value));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string of_each(const Chart& chart) {
  return chart.step == 1 ? "" : fmt::format("; of {} counts the mean", chart.step);
}

void write_spectrum(const ReportedSample& sample, HtmlPage& page) {
  page.heading(3, "Spectrum");
  const index::Histogram& histogram = sample.index.histogram();
  const Chart linear =
      spectrum_chart("Distinct k-mers by count", histogram, sample.model, sample.view(false));
  const Chart logarithmic =
      spectrum_chart("The same, logarithmic", histogram, sample.model, sample.view(true));
  page.begin_figures();
  page.figure("How many distinct k-mers occur how often. What is higher than the picture is cut off.",
              [&](TextOutput& output) { output.write(draw_chart(linear, Svg::Frame::page)); });
  page.figure("All of it: heights are logarithmic.",
              [&](TextOutput& output) { output.write(draw_chart(logarithmic, Svg::Frame::page)); });
  page.end_figures();
  page.folded("The spectrum in numbers",
              chart_table(linear, "Distinct k-mers of each count" + of_each(linear)));
  page.heading(3, "Genome");
  page.paragraph(trust_text(sample.model));
  page.table(fields_table("Estimated from the spectrum", spectrum_fields(sample.model)));
}

/// Returns a table as that of `qv`.
HtmlTable quality_table(const ReportedSample& sample) {
  HtmlTable table{
      "Quality and completeness, as Merqury defines them",
      {"assembly", "k-mers", "missing in the reads", "QV", "error rate", "solid found", "completeness %"},
      {},
      false};
  const std::uint32_t k = sample.index.params().k;
  for (const ReportedAssembly& assembly : sample.assemblies) {
    const stats::AssemblyKmers sums{assembly.spectrum.kmers, assembly.spectrum.missing};
    std::vector<std::string> row{assembly.name, with_thousands(sums.kmers), with_thousands(sums.missing),
                                 number_text(stats::quality_value(sums, k)),
                                 number_text(stats::base_error_rate(sums, k))};
    const std::uint64_t found = sample.solid ? assembly.spectrum.found(sample.solid->count) : 0;
    row.push_back(sample.solid ? with_thousands(found) : "NA");
    row.push_back(sample.solid ? number_text(stats::completeness(found, sample.solid->kmers)) : "NA");
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Returns distinct k-mers by copies.
HtmlTable copies_table(const ReportedSample& sample, const backend::CopySpectrum& spectrum) {
  HtmlTable table{"Distinct k-mers by their copies in the assembly",
                  {"copies", "in the reads", "solid", "not in the reads"},
                  {},
                  false};
  for (std::size_t i = 0; i < backend::CopySpectrum::kClasses; ++i) {
    std::uint64_t all = 0, solid = 0;
    for (const auto& [count, kmers] : spectrum.of_reads[i]) {
      all += kmers;
      if (sample.solid && count >= sample.solid->count) solid += kmers;
    }
    table.rows.push_back({copies_text(i), with_thousands(all),
                          sample.solid ? with_thousands(solid) : std::string("NA"),
                          with_thousands(spectrum.not_in_reads[i])});
  }
  return table;
}

void write_assemblies(const ReportedSample& sample, HtmlPage& page) {
  if (sample.assemblies.empty()) return;
  page.heading(3, "Assemblies");
  page.table(quality_table(sample));
  if (sample.solid) {
    page.paragraph(fmt::format("Solid are the {} distinct k-mers that the reads have at least {} times.",
                               with_thousands(sample.solid->kmers), sample.solid->count));
  }
  for (const ReportedAssembly& assembly : sample.assemblies) {
    const Chart chart =
        copy_chart("Copies in the assembly", assembly.spectrum, sample.model, sample.view(false));
    page.heading(3, "Copy numbers: " + assembly.name);
    page.begin_figures();
    page.figure(
        "K-mers of the reads by their count there, for each number of copies in the assembly (spectra-cn). "
        "Where one copy would be right, more are duplications, and none are gaps.",
        [&](TextOutput& output) { output.write(draw_chart(chart, Svg::Frame::page)); });
    page.end_figures();
    page.table(copies_table(sample, assembly.spectrum));
    page.folded("The copy numbers in numbers",
                chart_table(chart, "Distinct k-mers of the reads by count and copies" + of_each(chart)));
  }
}

void write_origin(const ReportedSample& sample, HtmlPage& page) {
  page.heading(3, "Counting");
  const index::IndexFile& index = sample.index;
  const index::Provenance& origin = index.provenance();
  ReportFields fields = counted_fields(index.params(), index.totals());
  fields.add("file", index.path());
  fields.add("file bytes", index.file_bytes());
  fields.add("content checksum", checksum_text(index.content_checksum()));
  fields.add("written by", "warpmer " + origin.tool_version);
  fields.add("command line", origin.command_line);
  for (std::size_t i = 0; i < std::min(origin.inputs.size(), kMostInputsShown); ++i)
    fields.add("input", origin.inputs[i]);
  if (origin.inputs.size() > kMostInputsShown)
    fields.add("and", counted(origin.inputs.size() - kMostInputsShown, "more input"));
  page.table(fields_table("The index, and the run that made it", fields));
}

/// Returns a row for each sample.
HtmlTable overview_table(const std::vector<ReportedSample>& samples) {
  HtmlTable table{"All samples",
                  {"sample", "distinct k-mers", "coverage", "ploidy", "genome size", "heterozygosity %",
                   "error rate %", "model fit %"},
                  {},
                  false};
  const auto percent = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.3g}", 100 * *value) : std::string("NA");
  };
  for (const ReportedSample& sample : samples) {
    std::vector<std::string> row{sample.name, with_thousands(sample.index.totals().stored_distinct)};
    if (const auto& estimate = sample.model.estimate) {
      row.push_back(fmt::format("{:.4g}", estimate->kmer_coverage));
      row.push_back(fmt::format("{}", estimate->ploidy));
      row.push_back(estimate->genome_size
                        ? with_thousands(static_cast<std::uint64_t>(std::llround(*estimate->genome_size)))
                        : "NA");
      row.push_back(percent(estimate->heterozygosity));
      row.push_back(percent(estimate->error_rate));
      row.push_back(percent(estimate->fit));
    } else {
      row.resize(table.header.size(), "NA");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Returns Jaccard's indexes.
HeatMap map_of(const jobs::Comparison& comparison, const std::vector<ReportedSample>& samples) {
  HeatMap map{fmt::format("jaccard, k = {}", comparison.k), {}, {}, {}};
  const auto& of = comparison.sums.samples;
  for (std::size_t a = 0; a < samples.size(); ++a) {
    map.names.push_back(samples[a].name);
    for (std::size_t b = 0; b < samples.size(); ++b) {
      const double value = a == b ? 1 : backend::jaccard(of[a], of[b], comparison.sums.pair(a, b));
      map.values.push_back(value);
      map.distances.push_back(1 - value);
    }
  }
  return map;
}

void write_comparison(const HeatMap& map, HtmlPage& page) {
  page.heading(2, "Comparison", "comparison");
  page.begin_figures();
  page.figure(
      "Shared distinct k-mers, by those of either sample (Jaccard's index), clustered by average linkage.",
      [&](TextOutput& output) { output.write(draw_heat_map(map, Svg::Frame::page)); });
  page.end_figures();
  const std::size_t n = map.names.size();
  if (n > kMostInTable) return;
  HtmlTable table{"Jaccard's index", {"sample"}, {}, false};
  for (std::size_t a = 0; a < n; ++a) {
    table.header.push_back(map.names[a]);
    std::vector<std::string>& row = table.rows.emplace_back(std::vector<std::string>{map.names[a]});
    for (std::size_t b = 0; b < n; ++b) row.push_back(fmt::format("{:.4f}", map.values[a * n + b]));
  }
  page.table(table);
}

void write_page(const std::vector<ReportedSample>& samples, const std::optional<HeatMap>& map,
                const std::string& version, TextOutput& output) {
  const bool are_several = samples.size() > 1;
  const std::string title =
      are_several ? fmt::format("K-mers of {} samples", samples.size()) : "K-mers of " + samples.front().name;
  HtmlPage page(output, title);
  page.heading(1, title);
  const index::IndexParams& params = samples.front().index.params();
  page.paragraph(
      fmt::format("k = {}, {}. Made by warpmer {}.", params.k, strand_name(params.canonical), version));
  if (are_several) {
    std::vector<std::pair<std::string, std::string>> links;
    for (std::size_t i = 0; i < samples.size(); ++i)
      links.emplace_back(fmt::format("sample{}", i + 1), samples[i].name);
    if (map) links.emplace_back("comparison", "Comparison");
    page.contents(links);
    page.table(overview_table(samples));
    if (map) write_comparison(*map, page);
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (are_several) page.heading(2, samples[i].name, fmt::format("sample{}", i + 1));
    write_spectrum(samples[i], page);
    write_assemblies(samples[i], page);
    write_origin(samples[i], page);
  }
  page.finish();
}

/// Returns the spectra as lines.
MultiqcSection spectra_section(const std::vector<ReportedSample>& samples) {
  MultiqcSection section{"warpmer_spectra",
                         "K-mer spectra",
                         "Distinct k-mers by how often they occur, as warpmer counted them.",
                         {},
                         Json::object(),
                         true,
                         "Count of a k-mer",
                         "Distinct k-mers"};
  for (const ReportedSample& sample : samples) {
    const std::uint64_t last = *sample.view(false).last;
    Json& points = section.data[sample.name] = Json::array();
    for (const auto& [count, kmers] : sample.index.histogram()) {
      if (count > last) break;
      points.push_back({count, kmers});
    }
  }
  return section;
}

std::vector<ReportedSample> open_samples(const ReportOptions& options) {
  const std::vector<std::string> names = sample_names(options.indexes, false);
  std::vector<ReportedSample> samples;
  for (std::size_t i = 0; i < names.size(); ++i) {
    index::IndexFile index(options.indexes[i]);
    if (!options.assemblies.empty()) check_reads_of_assembly(index);
    stats::SpectrumModel model = stats::model_spectrum(index, threads_or_default(options.resources.threads));
    samples.push_back({names[i], std::move(index), std::move(model), std::nullopt, {}});
  }
  return samples;
}

/// Adds what each assembly is beside the reads of each sample, and what all together are. All indexes have
/// the same k and strand.
void add_assemblies(const ReportOptions& options, std::vector<ReportedSample>& samples,
                    backend::JobProgress& progress) {
  for (ReportedSample& sample : samples) {
    sample.solid =
        solid_kmers_of(sample.index, options.solid_count ? options.solid_count : sample.model.solid_count());
  }
  const host::Resources resources = host::settled(options.resources);
  const jobs::AssemblyOptions counting{options.reading, resources,
                                       host::tmp_directory(options.tmp_directory, options.output)};
  const auto add = [&](const std::string& name, const std::vector<std::string>& files) {
    const jobs::CountedAssembly counted(counting, samples.front().index.params(), files, progress);
    for (ReportedSample& sample : samples) {
      sample.assemblies.push_back(
          {name, jobs::make_copy_spectrum(sample.index.path(), counted, resources, progress)});
    }
  };
  for (const std::string& assembly : options.assemblies) add(assembly, {assembly});
  if (options.assemblies.size() > 1) add("all", options.assemblies);
}

void complete(ReportOptions& options) {
  formats::check_ending(options.output, {formats::Content::html});
  if (options.solid_count && options.assemblies.empty()) throw UsageError("--solid-count needs --assembly");
  const std::vector<std::string> outputs = {options.output, options.multiqc};
  expand_index_lists(options.indexes, outputs, options.resources.memory_bytes);
  check_can_be_read_again(options.indexes, "a report opens an index");
  check_can_be_read_again(options.assemblies, "a report reads an assembly");
  expand_lists(options.assemblies, outputs, options.resources.memory_bytes);
  io::warn_of_repeats(options.indexes);
}

int run_report(ReportOptions options, const std::string& version) {
  complete(options);
  std::vector<ReportedSample> samples = open_samples(options);
  TextOutput output(options.output);  // now, so that a path that cannot be written costs no run
  MultiqcFile multiqc(options.multiqc);
  std::optional<HeatMap> map;
  backend::JobProgress progress;
  {
    const ProgressMeter meter(progress, progress_style(options.progress));
    if (samples.size() > 1) {
      jobs::CompareOptions job{options.indexes, {}, options.resources};
      job.of_inputs.resize(samples.size());
      map = map_of(jobs::compare_indexes(job, progress), samples);
    }
    if (!options.assemblies.empty()) add_assemblies(options, samples, progress);
  }
  write_page(samples, map, version, output);
  if (multiqc.is_wanted()) multiqc.write(spectra_section(samples));
  io::warn_of_phred64(options.reading.qualities);
  multiqc.finish();
  output.finish();
  return kDone;
}

}  // namespace

void add_report_command(Application& application) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App& command = application.add_command(
      "report",
      "Write all that indexes say on one page of HTML, which needs no network.\n"
      "Each spectrum with the fitted model, its parameters and how sure they are; how the index was counted; "
      "of assemblies quality, completeness and copy numbers; of several indexes, which have to have the same "
      "k, how alike they are.",
      R"(On the page:
  spectrum       linear and logarithmic, with the curve of the model
  genome         as in 'warpmer stats'
  assemblies     as in 'warpmer qv', and k-mers of the reads by their count and
                 their copies in the assembly (Merqury's spectra-cn)
  comparison     as in 'warpmer compare --svg'
  counting       totals, command line and inputs, as the index has them
  Beside each picture its numbers can be unfolded.

Examples:
  warpmer report sample.wmi -o sample.html
  warpmer report reads.wmi --assembly hap1.fa --assembly hap2.fa -o reads.html
  warpmer report *.wmi -o samples.html --multiqc samples_mqc.json
)");
  command
      .add_option(
          "--assembly", options->assemblies,
          "An assembly of the sample: any input that 'warpmer count' takes, but no pipe. Can be given "
          "several times.")
      ->type_name("FILE")
      ->expected(1)
      ->allow_extra_args(false)  // what follows is INDEX
      ->take_all();
  add_whole_number(
      command, "--solid-count", 1, UINT64_MAX, options->solid_count,
      "For completeness, k-mers that the reads have at least N times are solid; see 'warpmer qv'.");
  add_text_output_flag(command, options->output);
  add_multiqc_flag(command, options->multiqc, "the spectra");
  add_reading_flags(command, options->reading);
  add_resource_flags(command, options->resources);
  add_tmp_directory_flag(command, options->tmp_directory);
  add_progress_flag(command, options->progress);
  command
      .add_option("INDEX", options->indexes,
                  "Indexes written by 'warpmer count'; @LIST for a file that names one on each line.")
      ->required()
      ->type_name("FILE");
  application.on_run(command, [options, version = application.provenance().tool_version] {
    return run_report(*options, version);
  });
}

}  // namespace warpmer::cli
