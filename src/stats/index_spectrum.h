#pragma once
/// The spectrum of an index, for a job that wants its model for several things.

#include <optional>

#include "index/index_file.h"
#include "stats/spectrum_model.h"

namespace warpmer::stats {

/// Not thread-safe.
class IndexSpectrum {
 public:
  /// `index` outlives it.
  IndexSpectrum(const index::IndexFile& index, unsigned threads) : index_(index), threads_(threads) {}

  [[nodiscard]] const index::IndexFile& index() const { return index_; }
  /// Returns the model, which is fitted when it is wanted first: that may take some seconds.
  [[nodiscard]] const SpectrumModel& model() {
    if (!model_) model_ = model_spectrum(index_, threads_);
    return *model_;
  }

 private:
  const index::IndexFile& index_;
  const unsigned threads_;
  std::optional<SpectrumModel> model_;
};

}  // namespace warpmer::stats
