// Spectra of known genomes: how many haplotypes the model must find, and what else of peaks that could be
// theirs. ctest: one thread

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/spectrum_model.h"
#include "tier.h"
#include "unit/stats/made_spectra.h"

using namespace warpmer;
using namespace warpmer::tests;

TEST_CASE("which ploidy it is") {
  struct Case {
    double unit;
    std::vector<double> kmers;  // of 1, 2, ... haplotypes: the last is the ploidy
  };
  for (const Case& one : some<Case>({{28, {12000, 5000, 4000, 3000, 2000, 7000}},
                                     {30, {20000}},
                                     {20, {8000, 16000}},
                                     {9, {9000, 12000}},
                                     {55, {1500, 19000}},
                                     {20, {12000, 6000, 10000}},
                                     {14, {9000, 5000, 16000}},
                                     {20, {16000, 6000, 4000, 4000}},
                                     {33, {11000, 5000, 3000, 9000}},
                                     {16, {14000, 6000, 4000, 3000, 5000}},
                                     {15, {12000, 5000, 3000, 2000, 2000, 4000}}},
                                    3)) {
    const auto ploidy = static_cast<unsigned>(one.kmers.size());
    double size = 0;
    for (unsigned i = 0; i < ploidy; ++i) size += (i + 1) * one.kmers[i] / ploidy;
    CAPTURE(ploidy);
    CAPTURE(one.unit);
    for (const double dispersion : some<double>({0.1, 0.5})) {
      CAPTURE(dispersion);
      const auto model = draw(of_peaks(one.unit, one.kmers, dispersion), 17).model();
      REQUIRE(model.estimate);
      CHECK(model.estimate->ploidy == ploidy);
      CHECK(is_within(model.estimate->kmer_coverage, ploidy * one.unit, 0.02));
      CHECK(is_within(*model.estimate->genome_size, size, 0.03));
      CHECK(model.estimate->heterozygous_coverage.has_value() == (ploidy > 1));
      if (ploidy > 1) {
        CHECK(is_within(*model.estimate->heterozygous_coverage, one.unit, 0.02));
        const double homozygous = one.kmers.back() / size;
        CHECK(is_within(*model.estimate->heterozygosity, 1 - std::pow(homozygous, 1.0 / 17), 0.1));
      }
      CHECK(model.foreign.empty());
      CHECK(model.count_divisor == 1);
      REQUIRE(model.runner_up);
      CHECK(model.runner_up->ploidy != ploidy);
    }
  }
}

TEST_CASE("where two ploidies fit, both are said") {
  // A haploid genome with many repeats, or a diploid one of high heterozygosity.
  const auto model = draw(of_peaks(30, {20000, 4200, 0, 0}), 17).model();
  REQUIRE(model.estimate);
  REQUIRE(model.runner_up);
  CHECK(model.runner_up->is_equal);
  CHECK(model.estimate->ploidy + model.runner_up->ploidy == 3);
  const double coverages[] = {model.estimate->kmer_coverage, model.runner_up->kmer_coverage};
  CHECK(is_within(std::min(coverages[0], coverages[1]), 30, 0.02));
  CHECK(is_within(std::max(coverages[0], coverages[1]), 60, 0.02));
  CHECK(is_within(*model.estimate->genome_size * model.estimate->kmer_coverage,
                  *model.runner_up->genome_size * model.runner_up->kmer_coverage, 0.001));
  // Much clearer.
  const auto clear = draw(of_peaks(30, {20000, 800, 0, 0}), 17).model();
  REQUIRE(clear.runner_up);
  CHECK(clear.estimate->ploidy == 1);
  CHECK_FALSE(clear.runner_up->is_equal);
  CHECK(clear.runner_up->worse_by > 10);
}

TEST_CASE("what is at half or at twice the coverage is a haplotype's or another genome's: both are said") {
  // Peaks that are broader than haplotypes' would be, as of reads that fall unevenly: another genome's fits.
  for (const double coverage : some<double>({57.5, 88.0, 112.0})) {
    CAPTURE(coverage);
    Expected expected;
    constexpr int kSteps = 40;
    for (int i = 0; i < kSteps; ++i) {
      const double off = -2.5 + 5 * (i + 0.5) / kSteps, weight = std::exp(-off * off / 2) / kSteps * 2;
      const double factor = std::exp(0.15 * off);
      add_peak(expected, weight * 0.7 * kGenome, coverage * factor, 0.3);
      add_peak(expected, weight * 0.6 * kGenome, coverage / 2 * factor, 0.3);
    }
    add_errors(expected, kGenome * coverage, 0.001, 31);
    const auto model = draw(expected).model();
    REQUIRE(model.estimate);
    REQUIRE(model.runner_up);
    CAPTURE(model.estimate->ploidy);
    CAPTURE(model.runner_up->ploidy);
    const bool is_right =
        model.estimate->ploidy == 2 && is_within(model.estimate->kmer_coverage, coverage, 0.04);
    CHECK((is_right || model.runner_up->is_possible));
    CHECK((is_right || model.runner_up->ploidy == 2));
  }
}

TEST_CASE("another genome below or above the main peak is not counted") {
  struct Case {
    double coverage, other, kmers;
  };
  for (const Case& one : some<Case>({{150, 7, 8000},
                                     {120, 16, 6000},
                                     {80, 33, 7000},
                                     {40, 100, 3000},
                                     {40, 61, 5000},
                                     {40, 300, 3000},
                                     {25, 600, 2000}},
                                    2)) {
    CAPTURE(one.coverage);
    CAPTURE(one.other);
    Expected expected = of_peaks(one.coverage, {20000}, 0.5);
    add_peak(expected, one.kmers, one.other, 0.3);
    const auto model = draw(expected, 17).model();
    REQUIRE(model.estimate);
    CHECK(model.estimate->ploidy == 1);
    CHECK(is_within(model.estimate->kmer_coverage, one.coverage, 0.02));
    CHECK(is_within(*model.estimate->genome_size, 20000, 0.05));
    REQUIRE(model.foreign.size() == 1);
    CHECK(is_within(model.foreign[0].coverage, one.other, 0.05));
    CHECK(is_within(model.foreign[0].kmers, one.kmers, 0.12));
  }
}

TEST_CASE("files that were counted twice or three times") {
  for (const std::uint64_t times : {2u, 3u}) {
    Expected expected;
    for (const auto& [count, kmers] : of_peaks(40, {20000})) expected[count * times] = kmers;
    const auto model = draw(expected, 17).model();
    CHECK(model.count_divisor == times);
    REQUIRE(model.estimate);
    const auto factor = static_cast<double>(times);
    CHECK(is_within(model.estimate->kmer_coverage, 40 * factor, 0.02));
    CHECK(is_within(*model.estimate->genome_size, 20000, 0.02));
    CHECK(is_within(*model.estimate->error_kmers, 20000 * factor * 1.06, 0.05));
    CHECK(*model.error_cutoff % times == 0);
  }
  // A few counts that happen to be even say nothing.
  CHECK(draw({{2, 5}, {4, 1}, {10, 3}}, 17).model().count_divisor == 1);
  CHECK(draw({}, 17).model().reason == "it has no k-mers");
}

TEST_CASE("a shoulder that is no peak does not make haplotypes") {
  Expected expected = of_peaks(21, {20000}, 0.2);
  for (std::uint64_t count = 4; count < 14; ++count) expected[count] += 80;  // ends of sequences
  const auto model = draw(expected, 31).model();
  REQUIRE(model.estimate);
  CHECK(model.estimate->ploidy == 1);
  CHECK(is_within(model.estimate->kmer_coverage, 21, 0.03));
}
