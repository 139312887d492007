#include "cli/pictures/spectrum_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace warpmer::cli {
namespace {

constexpr std::uint64_t kFewestCounts = 10;

/// Returns the count up to which nearly all k-mers are.
std::uint64_t last_of_most(const index::Histogram& histogram) {
  constexpr double kMost = 0.995;
  double all = 0, sum = 0;
  for (const auto& [count, kmers] : histogram) all += static_cast<double>(kmers);
  for (const auto& [count, kmers] : histogram) {
    sum += static_cast<double>(kmers);
    if (sum >= kMost * all) return count;
  }
  return 1;
}

/// Returns what the model has in each bin. Behind the last peak it falls, soon to nothing: what is behind
/// that is not asked for, because a bin can have any number of counts.
std::vector<double> expected_in(const Chart& chart, const stats::SpectrumModel& model) {
  constexpr double kNothing = 1e-6;  // k-mers
  double last_peak = 0;
  for (const stats::ModelPeak& peak : model.curve) last_peak = std::max(last_peak, peak.mean);
  std::vector<double> values(chart.bins);
  std::uint64_t count = (chart.first + model.count_divisor - 1) / model.count_divisor * model.count_divisor;
  for (; count < chart.end(); count += model.count_divisor) {
    const double kmers = model.expected(count);
    const bool is_behind = static_cast<double>(count) > last_peak;
    if (is_behind && kmers < kNothing) break;
    values[(count - chart.first) / chart.step] += kmers / static_cast<double>(chart.step);
  }
  return values;
}

}  // namespace

std::uint64_t last_to_see(const index::Histogram& histogram, const stats::SpectrumModel& model) {
  if (histogram.empty()) return kFewestCounts;
  double last = static_cast<double>(last_of_most(histogram));
  if (model.estimate) {
    const double coverage = model.estimate->kmer_coverage;
    last = 3.2 * coverage;
    for (const stats::SpectrumPeak& peak : model.peaks) {
      const auto count = static_cast<double>(peak.count);
      if (count < 8 * coverage) last = std::max(last, 1.3 * count);
    }
  }
  const std::uint64_t largest = histogram.rbegin()->first;
  // A double does not have every large count; one beyond 2^63 has no rounded value, either.
  const bool is_all = last >= static_cast<double>(largest);
  return std::max(is_all ? largest : static_cast<std::uint64_t>(std::llround(last)), kFewestCounts);
}

Chart empty_chart(std::string title, std::uint64_t last, const stats::SpectrumModel& model,
                  std::uint64_t most_bins) {
  Chart chart;
  chart.title = std::move(title);
  // A multiple, so that each bin has as many of the counts that there can be.
  const std::uint64_t divisor = model.count_divisor;
  chart.step = ((last - 1) / divisor / most_bins + 1) * divisor;
  chart.bins = (last - 1) / chart.step + 1;
  if (model.estimate) {
    if (*model.error_cutoff > 0) {
      chart.marks.push_back(
          {static_cast<double>(*model.error_cutoff), fmt::format("error cut-off {}", *model.error_cutoff)});
    }
    chart.marks.push_back(
        {model.estimate->kmer_coverage, fmt::format("coverage {:.4g}", model.estimate->kmer_coverage)});
  }
  return chart;
}

std::vector<double> binned(const Chart& chart, const index::Histogram& histogram) {
  std::vector<double> values(chart.bins);
  for (auto at = histogram.lower_bound(chart.first); at != histogram.end(); ++at) {
    const std::uint64_t bin = (at->first - chart.first) / chart.step;
    if (bin >= chart.bins) break;
    values[bin] += static_cast<double>(at->second);
  }
  for (double& value : values) value /= static_cast<double>(chart.step);
  return values;
}

double highest_from(const Chart& chart, std::uint64_t count, std::size_t first_series) {
  double top = 0;
  for (std::size_t s = first_series; s < chart.series.size(); ++s) {
    for (std::size_t i = 0; i < chart.bins; ++i)
      top = std::max(top, chart.begin_of(i) >= count ? chart.series[s].values[i] : 0);
  }
  return top;
}

void set_top(Chart& chart, const stats::SpectrumModel& model) {
  const double all = highest_from(chart, 0);
  const double genomic = model.estimate && !chart.is_log ? highest_from(chart, *model.error_cutoff + 1) : all;
  chart.top = std::max(1.0, chart.is_log ? 2 * all : 1.12 * (genomic > 0 ? genomic : all));
}

Chart spectrum_chart(const std::string& title, const index::Histogram& histogram,
                     const stats::SpectrumModel& model, const SpectrumView& view) {
  const std::uint64_t last = view.last ? *view.last : last_to_see(histogram, model);
  Chart chart = empty_chart(title, last, model, view.most_bins);
  chart.is_log = view.is_log;
  chart.series.push_back({"k-mers", SeriesStyle::bars, "fill1", "line1", binned(chart, histogram)});
  if (model.estimate)
    chart.series.push_back({"model", SeriesStyle::line, "curve-key", "curve", expected_in(chart, model)});
  set_top(chart, model);
  return chart;
}

std::string copies_text(std::size_t copy_class) {
  if (copy_class == 0) return "not in it";
  const std::size_t most = backend::CopySpectrum::kClasses - 2;
  if (copy_class > most) return fmt::format("more than {}", most);
  return copy_class == 1 ? "1 copy" : fmt::format("{} copies", copy_class);
}

Chart copy_chart(const std::string& title, const backend::CopySpectrum& spectrum,
                 const stats::SpectrumModel& model, const SpectrumView& view) {
  Chart chart = empty_chart(title, *view.last, model, view.most_bins);
  chart.is_log = view.is_log;
  for (std::size_t i = 0; i < backend::CopySpectrum::kClasses; ++i) {
    chart.series.push_back(
        {copies_text(i), SeriesStyle::area, kFills[i], kLines[i], binned(chart, spectrum.of_reads[i])});
  }
  set_top(chart, model);
  return chart;
}

}  // namespace warpmer::cli
