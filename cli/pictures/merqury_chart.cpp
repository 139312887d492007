#include "cli/pictures/merqury_chart.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/pictures/spectrum_chart.h"

namespace warpmer::cli {
namespace {

/// Without a model, k-mers of fewer occurrences are taken for errors, which may be higher than the picture.
constexpr std::uint64_t kLeastGenomic = 4;

struct ClassPaint {
  std::string_view fill, line;
};
constexpr ClassPaint kClassPaints[] = {{"fill0", "line0"}, {"fill1", "line1"}, {"fill2", "line2"},
                                       {"fill3", "line3"}, {"fill4", "line4"}, {"fill5", "line5"}};

/// Adds a layer for each class, the highest first.
void add_layers(const std::vector<ClassSpectrum>& classes, Chart& chart) {
  std::vector<double> sums(chart.bins);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::vector<double> values = binned(chart, *classes[i].histogram);
    for (std::size_t bin = 0; bin < sums.size(); ++bin) sums[bin] += values[bin];
    chart.series.push_back(
        {classes[i].name, SeriesStyle::layer, kClassPaints[i].fill, kClassPaints[i].line, sums});
  }
  std::reverse(chart.series.begin(), chart.series.end());
}

/// Makes the chart as high as what is genomic.
void set_class_top(const stats::SpectrumModel& model, SpectrumShape shape, Chart& chart) {
  const std::uint64_t from = model.estimate ? *model.error_cutoff + 1 : kLeastGenomic;
  const auto highest_from = [&](std::uint64_t count) {
    double top = 0;
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
      // Errors of reads are what assemblies lack; where no model tells where they end, they do not matter.
      if (!model.estimate && shape != SpectrumShape::stacked && s == 0 && chart.series.size() > 1) continue;
      for (std::size_t i = 0; i < chart.bins; ++i)
        top = std::max(top, chart.begin_of(i) >= count ? chart.series[s].values[i] : 0);
    }
    return top;
  };
  const double genomic = highest_from(from);
  double only = 0;
  for (const ChartColumn& column : chart.columns) only += column.value;
  chart.top = std::max({1.0, 1.12 * (genomic > 0 ? genomic : highest_from(0)), 1.12 * only});
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
      chart.series.push_back({classes[i].name, style, kClassPaints[i].fill, kClassPaints[i].line,
                              binned(chart, *classes[i].histogram)});
    }
  }
  set_class_top(model, shape, chart);
  return chart;
}

}  // namespace warpmer::cli
