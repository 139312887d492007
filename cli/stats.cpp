/// `warpmer stats`: the numbers of an index.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/report.h"
#include "engine/spectrum_model.h"
#include "index/index_file.h"

namespace warpmer::cli {
namespace {

using engine::GenomeEstimate;
using engine::SpectrumModel;

SpectrumModel model_of(const index::IndexFile& index) {
  return engine::model_spectrum(index.params(), index.totals(), index.histogram());
}

Json json_of(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }
Json whole_json_of(const std::optional<double>& value) {
  return value ? Json(std::llround(*value)) : Json(nullptr);
}

/// Every name is there; what there is no estimate of is null.
Json spectrum_json(const SpectrumModel& model) {
  Json peaks = Json::array();
  for (const engine::SpectrumPeak& peak : model.peaks)
    peaks.push_back({{"count", peak.count}, {"kmers", peak.kmers}});
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
          {"kmer_coverage", json_of(of(&GenomeEstimate::kmer_coverage))},
          {"heterozygous_coverage", json_of(maybe(&GenomeEstimate::heterozygous_coverage))},
          {"heterozygosity", json_of(maybe(&GenomeEstimate::heterozygosity))},
          {"genome_size", whole_json_of(maybe(&GenomeEstimate::genome_size))},
          {"repeat_fraction", json_of(maybe(&GenomeEstimate::repeat_fraction))},
          {"error_kmers", whole_json_of(maybe(&GenomeEstimate::error_kmers))},
          {"error_distinct", whole_json_of(maybe(&GenomeEstimate::error_distinct))},
          {"error_rate", json_of(maybe(&GenomeEstimate::error_rate))},
          {"dispersion", json_of(of(&GenomeEstimate::dispersion))},
          {"fit", json_of(of(&GenomeEstimate::fit))}};
}

void print_estimate(const GenomeEstimate& estimate, TextOutput& output) {
  const auto whole = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.0f}", *value) : std::string("unknown");
  };
  const auto percent = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.3g} %", 100 * *value) : std::string("unknown");
  };
  print_field(output, "k-mer coverage", fmt::format("{:.4g}", estimate.kmer_coverage));
  if (estimate.heterozygous_coverage) {
    print_field(output, "  heterozygous", fmt::format("{:.4g}", *estimate.heterozygous_coverage));
    print_field(output, "heterozygosity", percent(estimate.heterozygosity));
  }
  print_field(output, "genome size", whole(estimate.genome_size));
  print_field(output, "  repeats", percent(estimate.repeat_fraction));
  print_field(output, "error k-mers", whole(estimate.error_kmers));
  print_field(output, "  distinct", whole(estimate.error_distinct));
  print_field(output, "error rate", percent(estimate.error_rate));
  print_field(output, "model fit", percent(estimate.fit));
}

void print_spectrum(const SpectrumModel& model, TextOutput& output) {
  if (model.error_cutoff) print_field(output, "error cut-off", *model.error_cutoff);
  std::vector<std::uint64_t> counts;
  for (const engine::SpectrumPeak& peak : model.peaks) counts.push_back(peak.count);
  if (!counts.empty()) print_field(output, "peaks", fmt::format("{}", fmt::join(counts, ", ")));
  if (model.estimate) {
    print_estimate(*model.estimate, output);
  } else {
    print_field(output, "k-mer coverage", "no estimate: " + model.reason);
  }
}

Json stats_json(const index::IndexFile& index) {
  Json json = {{"k", index.params().k}, {"strand", strand_name(index.params().canonical)}};
  json.update(totals_json(index.totals()));
  json["file_bytes"] = index.file_bytes();
  json["bytes_per_kmer"] = bytes_per_kmer(index);
  json["spectrum"] = spectrum_json(model_of(index));
  return json;
}

std::string filter_text(const index::Totals& totals) {
  std::string text = fmt::format("at least {}", totals.min_count);
  return totals.max_count == UINT64_MAX ? text : text + fmt::format(", at most {}", totals.max_count);
}

void print_stats(const index::IndexFile& index, TextOutput& output) {
  const index::Totals& totals = index.totals();
  print_field(output, "k", index.params().k);
  print_field(output, "strand", strand_name(index.params().canonical));
  print_field(output, "sequences", totals.records);
  print_field(output, "bases", totals.bases);
  print_field(output, "k-mers counted", totals.counted_kmers);
  print_field(output, "  distinct", totals.counted_distinct);
  print_field(output, "  unique", totals.counted_unique);
  print_field(output, "counts kept", filter_text(totals));
  print_field(output, "k-mers stored", totals.stored_kmers);
  print_field(output, "  distinct", totals.stored_distinct);
  print_field(output, "largest count", totals.largest_count);
  print_field(output, "file bytes", index.file_bytes());
  print_field(output, "bytes per k-mer", fmt::format("{:.2f}", bytes_per_kmer(index)));
  print_spectrum(model_of(index), output);
}

}  // namespace

void add_stats_command(Application& application) {
  add_index_report_command(
      application, "stats",
      "Print how many k-mers an index holds, and what they say about a genome.\n"
      "Counted: every occurrence in the input, before --min-count and --max-count of 'warpmer count'. "
      "Stored: what these filters kept. Unique: k-mers that occur exactly once.",
      R"(The genome, estimated from how many k-mers occur how often:
  error cut-off   k-mers of up to this count are mostly sequencing errors
  peaks           counts that stand out, of which the largest is fitted
  k-mer coverage  mean count of k-mers that the genome has once
    heterozygous  that of k-mers of one of two haplotypes, if their peak, at
                  half the coverage, is seen
  heterozygosity  differences between the haplotypes, per base
  genome size     of one haplotype, in bases: k-mers that are no errors, by
                  the k-mer coverage
    repeats       share of it in k-mers that it has more than once
  error k-mers    occurrences of k-mers that sequencing errors made
  error rate      of bases
  model fit       share of the k-mers around the peaks that the model explains
  "no estimate" where no peak is clear, as in a genome's own k-mers or at low
  coverage; "unknown" what --min-count or --max-count left out.

Examples:
  warpmer stats sample.wmi
  warpmer stats --json sample.wmi
)",
      stats_json, print_stats);
}

}  // namespace warpmer::cli
