#include "cli/output/spectrum_report.h"

#include <fmt/ranges.h>

#include <cmath>
#include <cstdint>
#include <optional>

#include "cli/output/report.h"
#include "index/known_totals.h"

namespace warpmer::cli {
namespace {

using stats::GenomeEstimate;
using stats::SpectrumModel;

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

std::string whole_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.0f}", *value) : std::string("unknown");
}
std::string percent_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.3g} %", 100 * *value) : std::string("unknown");
}

void add_runner_up(const stats::OtherPloidy& other, ReportFields& fields) {
  const char* const fit = other.is_equal      ? "fits about as well"
                          : other.is_possible ? "fits worse, but may be right"
                                              : "fits worse";
  fields.add(other.is_possible ? "or ploidy" : "next ploidy",
             fmt::format("{}, {} (BIC + {:.1f}): k-mer coverage {:.4g}, genome size {}", other.ploidy, fit,
                         other.worse_by, other.kmer_coverage, whole_text(other.genome_size)));
}

void add_estimate(const SpectrumModel& model, ReportFields& fields) {
  const GenomeEstimate& estimate = *model.estimate;
  const bool is_open = model.runner_up && model.runner_up->is_possible;
  fields.add("ploidy", fmt::format("{}{}", estimate.ploidy, is_open ? ", not certain: see below" : ""));
  fields.add("k-mer coverage", fmt::format("{:.4g}", estimate.kmer_coverage));
  if (estimate.heterozygous_coverage) {
    fields.add("  of a haplotype", fmt::format("{:.4g}", *estimate.heterozygous_coverage));
    fields.add("heterozygosity", percent_text(estimate.heterozygosity));
  }
  fields.add("genome size", whole_text(estimate.genome_size));
  fields.add("  repeats", percent_text(estimate.repeat_fraction));
  for (const stats::ForeignGenome& foreign : model.foreign) {
    fields.add("not of the genome",
               fmt::format("{:.0f} k-mers of coverage {:.4g}", foreign.kmers, foreign.coverage));
  }
  fields.add("error k-mers", whole_text(estimate.error_kmers));
  fields.add("  distinct", whole_text(estimate.error_distinct));
  fields.add("error rate", percent_text(estimate.error_rate));
  fields.add("model fit", percent_text(estimate.fit));
  if (model.runner_up) add_runner_up(*model.runner_up, fields);
}

/// Returns the meaning of a divisor that all counts have.
std::string divisor_text(std::uint64_t divisor) {
  if (divisor == 2) return "every count is even: was each file counted twice?";
  return fmt::format("every count is a multiple of {0}: was each file counted {0} times?", divisor);
}

std::string filter_text(const index::Totals& totals) {
  std::string text = fmt::format("at least {}", totals.min_count);
  if (totals.max_count != UINT64_MAX) text += fmt::format(", at most {}", totals.max_count);
  return totals.are_chosen != 0 ? text + "; of chosen k-mers" : text;
}

}  // namespace

void print_fields(const ReportFields& fields, TextOutput& output) {
  for (const auto& [label, value] : fields) print_field(output, label, value);
}

ReportFields counted_fields(const index::IndexParams& params, const index::Totals& totals) {
  ReportFields fields;
  const auto text = [](bool is_known, std::uint64_t number) {
    return is_known ? fmt::format("{}", number) : std::string("unknown");
  };
  fields.add("k", params.k);
  fields.add("strand", strand_name(params.canonical));
  fields.add("sequences", text(index::knows_reads(totals), totals.records));
  fields.add("bases", text(index::knows_reads(totals), totals.bases));
  fields.add("k-mers counted", text(index::knows_counted(totals), totals.counted_kmers));
  fields.add("  distinct", text(index::knows_distinct(totals), totals.counted_distinct));
  fields.add("  unique", text(index::knows_distinct(totals), totals.counted_unique));
  fields.add("counts kept", filter_text(totals));
  fields.add("k-mers stored", totals.stored_kmers);
  fields.add("  distinct", totals.stored_distinct);
  fields.add("largest count", totals.largest_count);
  return fields;
}

ReportFields spectrum_fields(const SpectrumModel& model) {
  ReportFields fields;
  if (model.count_divisor > 1) fields.add("beware", divisor_text(model.count_divisor));
  if (model.error_cutoff) fields.add("error cut-off", *model.error_cutoff);
  std::vector<std::uint64_t> counts;
  for (const stats::SpectrumPeak& peak : model.peaks) counts.push_back(peak.count);
  if (!counts.empty()) fields.add("peaks", fmt::format("{}", fmt::join(counts, ", ")));
  if (model.estimate) {
    add_estimate(model, fields);
  } else {
    fields.add("k-mer coverage", "no estimate: " + model.reason);
  }
  return fields;
}

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

}  // namespace warpmer::cli
