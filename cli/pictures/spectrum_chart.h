#pragma once
/// The spectrum of an index as a chart.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/indexes/copy_spectra.h"
#include "cli/pictures/chart.h"
#include "index/index_file.h"
#include "stats/spectrum_model.h"

namespace warpmer::cli {

struct SpectrumView {
  bool is_log = false;
  std::optional<std::uint64_t> last;  ///< the largest count to be seen; else as far as there is much to see
  std::uint64_t most_bins = 200;
};

/// Returns the largest count to be seen, where nobody says: about three times the coverage, peaks that stand
/// out included; without an estimate, the count up to which nearly all k-mers are.
std::uint64_t last_to_see(const index::Histogram& histogram, const stats::SpectrumModel& model);

/// Returns a chart of counts up to `last`, in as few as `most_bins` bins, with nothing in it.
Chart empty_chart(std::string title, std::uint64_t last, const stats::SpectrumModel& model,
                  std::uint64_t most_bins);

/// Returns for each bin the k-mers of a count, on average.
std::vector<double> binned(const Chart& chart, const index::Histogram& histogram);

/// Returns the highest value of a chart's bins from a count on, of all series or those from one on.
double highest_from(const Chart& chart, std::uint64_t count, std::size_t first_series = 0);
/// Makes a chart as high as its highest series; unless heights are logarithmic, errors that are higher than
/// all else are cut off.
void set_top(Chart& chart, const stats::SpectrumModel& model);

/// Returns bars of the k-mers there are and, where there is an estimate, the model's curve.
Chart spectrum_chart(const std::string& title, const index::Histogram& histogram,
                     const stats::SpectrumModel& model, const SpectrumView& view);

/// Returns the name of a class of copies: "2 copies", "more than 4".
std::string copies_text(std::size_t copy_class);

/// Returns lines of the k-mers of reads by their copies in an assembly. The model is that of the reads.
Chart copy_chart(const std::string& title, const backend::CopySpectrum& spectrum,
                 const stats::SpectrumModel& model, const SpectrumView& view);

}  // namespace warpmer::cli
