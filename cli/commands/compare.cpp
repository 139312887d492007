/// `warpmer compare`: how alike several indexes are, all with all.

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <span>
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
#include "cli/framework/text_output.h"
#include "cli/output/progress.h"
#include "cli/output/table_schemas.h"
#include "cli/pictures/heat_map.h"
#include "cli/pictures/picture_files.h"
#include "formats/table/npz_file.h"
#include "formats/table/table_format.h"
#include "io/text/repeated_inputs.h"
#include "jobs/compare_job.h"

namespace warpmer::cli {
namespace {

using backend::PairSums;
using backend::SampleSums;
using jobs::Comparison;

/// One number for two samples.
struct Measure {
  const char* name;
  bool is_distance;
  bool is_symmetric;
  double (*of)(const Comparison& comparison, std::size_t a, std::size_t b);
};

/// A sample shares with itself all it has.
PairSums sums_of(const Comparison& comparison, std::size_t a, std::size_t b) {
  if (a != b) return comparison.sums.pair(a, b);
  const SampleSums& sample = comparison.sums.samples[a];
  return {sample.distinct, sample.kmers, sample.squares};
}

double jaccard_of(const Comparison& c, std::size_t a, std::size_t b) {
  return backend::jaccard(c.sums.samples[a], c.sums.samples[b], sums_of(c, a, b));
}
double containment_of(const Comparison& c, std::size_t a, std::size_t b) {
  return backend::containment(c.sums.samples[a], sums_of(c, a, b));
}
double weighted_jaccard_of(const Comparison& c, std::size_t a, std::size_t b) {
  return backend::weighted_jaccard(c.sums.samples[a], c.sums.samples[b], sums_of(c, a, b));
}
double cosine_of(const Comparison& c, std::size_t a, std::size_t b) {
  return backend::cosine(c.sums.samples[a], c.sums.samples[b], sums_of(c, a, b));
}
double mash_of(const Comparison& c, std::size_t a, std::size_t b) {
  return backend::mash_distance(jaccard_of(c, a, b), c.k);
}

constexpr Measure kMeasures[] = {{"jaccard", false, true, jaccard_of},
                                 {"containment", false, false, containment_of},
                                 {"ruzicka", false, true, weighted_jaccard_of},
                                 {"cosine", false, true, cosine_of},
                                 {"mash", true, true, mash_of}};
constexpr const char* kMeasureNames = "jaccard|containment|ruzicka|cosine|mash";

struct CompareCommand {
  IndexInputs inputs;
  jobs::CompareOptions job;
  std::string format;  ///< empty: as the output's name has it
  std::string measure;
  std::string output;
  PicturePaths pictures;
  bool progress = false;
};

const Measure& measure_called(const std::string& name) {
  for (const Measure& measure : kMeasures) {
    if (name == measure.name) return measure;
  }
  throw UsageError(fmt::format("--measure must be one of {}, not '{}'", kMeasureNames, name));
}

/// The number as a matrix of distances has it.
double distance_of(const Measure& measure, const Comparison& comparison, std::size_t a, std::size_t b) {
  const double value = measure.of(comparison, a, b);
  return measure.is_distance ? value : 1 - value;
}

constexpr std::string_view kPairColumns =
    "sample_a\tsample_b\tkmers_a\tkmers_b\tshared\tunion\tonly_a\tonly_b\tjaccard\tcontainment_a_in_b\t"
    "containment_b_in_a\truzicka\tcosine\tmash";
constexpr std::size_t kPairNumbers = 6;  ///< columns of whole numbers
/// Digits of the others: those that are of use, and those that make them what they were in memory.
constexpr int kDigits = 9, kAllDigits = 17;

/// Writes a row for each pair.
void write_pairs(const Comparison& comparison, const std::vector<std::string>& names, int digits,
                 TextOutput& output) {
  Progress so_far{0, names.size() * (names.size() - 1) / 2};
  for (std::size_t a = 0; a < names.size(); ++a) {
    for (std::size_t b = a + 1; b < names.size(); ++b) {
      const SampleSums& left = comparison.sums.samples[a];
      const SampleSums& right = comparison.sums.samples[b];
      const PairSums& pair = comparison.sums.pair(a, b);
      output.print("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", names[a], names[b], left.distinct, right.distinct,
                   pair.shared, backend::union_size(left, right, pair), left.distinct - pair.shared,
                   right.distinct - pair.shared);
      for (const double measure :
           {jaccard_of(comparison, a, b), containment_of(comparison, a, b), containment_of(comparison, b, a),
            weighted_jaccard_of(comparison, a, b), cosine_of(comparison, a, b), mash_of(comparison, a, b)})
        output.print("\t{:.{}g}", measure, digits);
      output.print("\n");
    }
    so_far.done += names.size() - 1 - a;
    output.write({}, so_far);
  }
}

void write_pair_text(const Comparison& comparison, const std::vector<std::string>& names,
                     TextOutput& output) {
  output.write(fmt::format("{}\n", kPairColumns), {0, names.size() * (names.size() - 1) / 2});
  write_pairs(comparison, names, kDigits, output);
}

void write_pair_table(const Comparison& comparison, const std::vector<std::string>& names,
                      formats::Content content, TextOutput& output) {
  output.begin_table(content, pairs_table(comparison.k, kPairColumns, kPairNumbers));
  write_pairs(comparison, names, kAllDigits, output);
}

/// Rows and columns are samples; a row's containment is that of its sample in the column's.
void write_matrix(const Comparison& comparison, const Measure& measure, const std::vector<std::string>& names,
                  TextOutput& output) {
  output.write(measure.name);
  for (const std::string& name : names) output.print("\t{}", name);
  output.write("\n", {0, names.size()});
  for (std::size_t a = 0; a < names.size(); ++a) {
    output.write(names[a]);
    for (std::size_t b = 0; b < names.size(); ++b) output.print("\t{:.9g}", measure.of(comparison, a, b));
    output.write("\n", {a + 1, names.size()});
  }
}

/// Relaxed PHYLIP: names of any length, without blanks, then distances.
void write_phylip(const Comparison& comparison, const Measure& measure, const std::vector<std::string>& names,
                  TextOutput& output) {
  output.write(fmt::format("{}\n", names.size()), {0, names.size()});
  for (std::size_t a = 0; a < names.size(); ++a) {
    output.write(names[a]);
    for (std::size_t b = 0; b < names.size(); ++b)
      output.print(" {:.9f}", distance_of(measure, comparison, a, b));
    output.write("\n", {a + 1, names.size()});
  }
}

/// All measures, each a matrix, and the distinct k-mers of the samples.
void write_measures_npz(const Comparison& comparison, const std::vector<std::string>& names,
                        TextOutput& output) {
  formats::NpzWriter npz([&](std::string_view bytes) { output.write(bytes); });
  const std::size_t n = names.size();
  std::vector<std::uint64_t> distinct;
  for (const SampleSums& sample : comparison.sums.samples) distinct.push_back(sample.distinct);
  const std::uint64_t k = comparison.k;
  npz.add("k", std::span(&k, 1), {});
  npz.add("samples", names);
  npz.add("kmers", distinct, {n});
  for (const Measure& measure : kMeasures) {
    std::vector<double> values;
    values.reserve(n * n);
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) values.push_back(measure.of(comparison, a, b));
    }
    npz.add(measure.name, values, {n, n});
  }
  npz.finish();
}

/// Returns it as SVG.
std::string heat_map_svg(const Comparison& comparison, const Measure& measure,
                         const std::vector<std::string>& names) {
  HeatMap map{fmt::format("{}, k = {}", measure.name, comparison.k), names, {}, {}};
  for (std::size_t a = 0; a < names.size(); ++a) {
    for (std::size_t b = 0; b < names.size(); ++b) {
      map.values.push_back(measure.of(comparison, a, b));
      // Containment is two numbers; their mean is one.
      map.distances.push_back(
          (distance_of(measure, comparison, a, b) + distance_of(measure, comparison, b, a)) / 2);
    }
  }
  return draw_heat_map(map, Svg::Frame::file);
}

/// Rejects what no job could do. Returns the measure of a matrix; that of `tsv`, which has all, does not
/// matter.
const Measure& complete(CompareCommand& command) {
  using formats::Content;
  command.format = formats::settled_format(command.format, command.output, "tsv");
  const std::optional<Content> table = formats::table_named(command.format);
  const bool is_phylip = command.format == "phylip";
  if (command.format != "tsv" && command.format != "matrix" && !is_phylip && !table) {
    throw UsageError("--format must be tsv, matrix, phylip, npz, arrow or parquet, not '" + command.format +
                     "'");
  }
  if ((command.format == "tsv" || table) && command.pictures.svg.empty() && command.pictures.png.empty() &&
      !command.measure.empty()) {
    throw UsageError(
        fmt::format("--measure is for --format matrix and phylip and for --svg and --png; {} has all of them",
                    command.format));
  }
  const std::string otherwise = is_phylip ? "mash" : "jaccard";
  const Measure& measure = measure_called(command.measure.empty() ? otherwise : command.measure);
  if (is_phylip && !measure.is_symmetric) {
    throw UsageError(
        fmt::format("{} of a in b is not that of b in a, and PHYLIP has room for one; use --format matrix",
                    measure.name));
  }
  jobs::CompareOptions& job = command.job;
  complete(command.inputs, {command.output, command.pictures.svg, command.pictures.png},
           job.resources.memory_bytes, job.inputs, job.of_inputs);
  if (table) {
    formats::check_table(command.output, *table);
  } else {
    formats::check_ending(command.output, {is_phylip ? Content::text : Content::tsv});
  }
  check_pictures(command.pictures);
  return measure;
}

int run_compare(CompareCommand command) {
  const Measure& measure = complete(command);
  io::warn_of_repeats(command.job.inputs);
  TextOutput output(command.output);  // now, so that a path that cannot be written costs no run
  PictureFiles pictures(command.pictures);
  const auto compare = [&](backend::JobProgress& progress) {
    return jobs::compare_indexes(command.job, progress);
  };
  const Comparison comparison = run_with_meter(progress_style(command.progress), compare).report;
  const std::vector<std::string> names = sample_names(command.job.inputs, command.format == "phylip");
  if (command.format == "npz") {
    write_measures_npz(comparison, names, output);
  } else if (const auto table = formats::table_named(command.format)) {
    write_pair_table(comparison, names, *table, output);
  } else if (command.format == "tsv") {
    write_pair_text(comparison, names, output);
  } else if (command.format == "matrix") {
    write_matrix(comparison, measure, names, output);
  } else {
    write_phylip(comparison, measure, names, output);
  }
  output.finish();
  if (pictures.any())
    pictures.write(heat_map_svg(comparison, measure, sample_names(command.job.inputs, false)));
  return kDone;
}

}  // namespace

void add_compare_command(Application& application) {
  auto command = std::make_shared<CompareCommand>();
  CLI::App& app = application.add_command(
      "compare",
      "Say how alike several indexes are, all with all.\n"
      "For each pair: the k-mers that both have, either has and only one has; Jaccard's index; containment "
      "both ways; the weighted Jaccard index (Ruzicka) and the cosine, which go by counts; and the Mash "
      "distance, -ln(2j / (1 + j)) / k with Jaccard's index j of all k-mers, at most 1. Samples are called "
      "by their files.",
      R"(Examples:
  warpmer compare a.wmi b.wmi c.wmi > pairs.tsv
  warpmer compare --format matrix --measure containment @genomes.txt
  warpmer compare --format phylip -o distances.phy @genomes.txt
  warpmer compare --measure mash --svg map.svg -o pairs.tsv @genomes.txt
  warpmer compare --input-min-count 2 reads_1.wmi reads_2.wmi
)");
  add_index_inputs(app, command->inputs);
  app.add_option(
         "--format", command->format,
         "tsv: a line for each pair, with all measures. matrix: one measure, a row and a column for each "
         "sample. phylip: the same as distances. npz: NumPy arrays, a matrix for each measure, and samples, "
         "kmers (distinct) and k. arrow, parquet: tables of the columns of tsv. Default: tsv, or what the "
         "output's name ends in: .npz, .arrow, .parquet.")
      ->type_name("tsv|matrix|phylip|npz|arrow|parquet");
  app.add_option("--measure", command->measure,
                 "What a matrix or picture shows. Default: jaccard, for phylip mash. PHYLIP has 1 minus a "
                 "similarity. A row's containment is that of its sample in the column's.")
      ->type_name(kMeasureNames);
  app.add_option("--svg", command->pictures.svg,
                 "Also draw a heat map of the measure, with rows and columns clustered by average linkage.")
      ->type_name("FILE");
  app.add_option("--png", command->pictures.png, "Also draw it as PNG.")->type_name("FILE");
  add_text_output_flag(app, command->output);
  add_resource_flags(app, command->job.resources);
  add_progress_flag(app, command->progress);
  application.on_run(app, [command] { return run_compare(*command); });
}

}  // namespace warpmer::cli
