// A spectrum that several threads model.

#include <doctest/doctest.h>

#include <vector>

#include "stats/spectrum_model.h"
#include "unit/stats/made_spectra.h"

using namespace warpmer;
using namespace warpmer::tests;

TEST_CASE("the model is the same, to the last bit, whatever the number of threads") {
  Expected expected = of_peaks(30, {4e4, kGenome, 1e4, 3e4});
  add_peak(expected, 2e4, 170);  // something foreign is looked for, too
  const Spectrum spectrum = draw(expected);
  const auto numbers = [&](unsigned threads) {
    const stats::SpectrumModel model = spectrum.model(threads);
    REQUIRE(model.estimate);
    REQUIRE(model.runner_up);
    std::vector<double> all{model.estimate->kmer_coverage, model.estimate->fit,
                            model.runner_up->kmer_coverage, model.runner_up->worse_by};
    for (const stats::ModelPeak& peak : model.curve)
      all.insert(all.end(), {peak.mean, peak.dispersion, peak.kmers});
    return all;
  };
  const std::vector<double> of_one = numbers(1);
  CHECK(of_one.size() > 8);
  for (const unsigned threads : {2u, 7u}) CHECK((numbers(threads) == of_one));
}
