#pragma once
/// Merqury's pictures of spectra: k-mers of reads by count, of each class that an assembly makes of them.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/pictures/chart.h"
#include "index/index_file.h"
#include "stats/spectrum_model.h"

namespace warpmer::cli {

enum class SpectrumShape {
  lines,
  filled,  ///< lines over areas
  stacked,
};

/// The spectrum of a class of k-mers.
struct ClassSpectrum {
  std::string name;
  const index::Histogram* histogram = nullptr;
};

/// Returns a chart of classes, up to six; the first has what the assembly lacks. `only`: k-mers that the
/// reads do not have, which stand at count 0. The model is that of the reads; `last`: the largest count to be
/// seen.
Chart class_chart(const std::string& title, const std::vector<ClassSpectrum>& classes,
                  std::vector<ChartColumn> only, const stats::SpectrumModel& model, std::uint64_t last,
                  SpectrumShape shape);

}  // namespace warpmer::cli
