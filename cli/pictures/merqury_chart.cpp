#include "cli/pictures/merqury_chart.h"

#include <algorithm>
#include <utility>

#include "cli/pictures/spectrum_chart.h"

namespace warpmer::cli {
namespace {

/// Without a model, k-mers of fewer occurrences are taken for errors, which may be higher than the picture.
constexpr std::uint64_t kLeastGenomic = 4;

/// Adds a layer for each class, the highest first.
void add_layers(const std::vector<ClassSpectrum>& classes, Chart& chart) {
  std::vector<double> sums(chart.bins);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::vector<double> values = binned(chart, *classes[i].histogram);
    for (std::size_t bin = 0; bin < sums.size(); ++bin) sums[bin] += values[bin];
    chart.series.push_back({classes[i].name, SeriesStyle::layer, kFills[i], kLines[i], sums});
  }
  std::reverse(chart.series.begin(), chart.series.end());
}

/// Makes the chart as high as what is genomic.
void set_class_top(const stats::SpectrumModel& model, SpectrumShape shape, Chart& chart) {
  const std::uint64_t from = model.estimate ? *model.error_cutoff + 1 : kLeastGenomic;
  // Errors of reads are what assemblies lack; where no model tells where they end, they do not matter.
  const bool has_errors = !model.estimate && shape != SpectrumShape::stacked && chart.series.size() > 1;
  const std::size_t first = has_errors ? 1 : 0;
  const double genomic = highest_from(chart, from, first);
  double only = 0;
  for (const ChartColumn& column : chart.columns) only += column.value;
  chart.top = std::max({1.0, 1.12 * (genomic > 0 ? genomic : highest_from(chart, 0, first)), 1.12 * only});
}

}  // namespace

Chart class_chart(const std::string& title, const std::vector<ClassSpectrum>& classes,
                  std::vector<ChartColumn> only, const stats::SpectrumModel& model, std::uint64_t last,
                  SpectrumShape shape) {
  constexpr std::uint64_t kMostBins = 200;
  Chart chart = empty_chart(title, last, model, kMostBins);
  chart.first = 0;
  chart.bins = last / chart.step + 1;
  chart.columns = std::move(only);
  if (shape == SpectrumShape::stacked) {
    add_layers(classes, chart);
  } else {
    const SeriesStyle style = shape == SpectrumShape::lines ? SeriesStyle::line : SeriesStyle::area;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      chart.series.push_back(
          {classes[i].name, style, kFills[i], kLines[i], binned(chart, *classes[i].histogram)});
    }
  }
  set_class_top(model, shape, chart);
  return chart;
}

}  // namespace warpmer::cli
