// Spectra of known genomes: what the model must find, and when it must say nothing.
// One fit is as another to a sanitizer, and each takes a second, so that the sample tier has few.
// ctest: one thread

#include "stats/spectrum_model.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tier.h"
#include "unit/stats/made_spectra.h"

using namespace warpmer;
using namespace warpmer::tests;

TEST_CASE("haploid genomes of any coverage and error rate") {
  for (const double coverage : some<double>({12.0, 16.4, 25.0, 39.5, 80.0, 400.0}, 2)) {
    for (const double error_rate : some<double>({0.001, 0.004, 0.01})) {
      for (const double dispersion : some<double>({0.6, 0.0})) {
        CAPTURE(coverage);
        CAPTURE(error_rate);
        CAPTURE(dispersion);
        Expected expected;
        add_peak(expected, 0.9 * kGenome, coverage, dispersion);
        add_peak(expected, 0.03 * kGenome, 2 * coverage, dispersion);
        add_peak(expected, 0.004 * kGenome, 10 * coverage, dispersion);
        const double errors = add_errors(expected, kGenome * coverage, error_rate, 31);
        const auto model = draw(expected).model();
        REQUIRE(model.estimate);
        CHECK(model.reason.empty());
        CHECK(is_within(model.estimate->kmer_coverage, coverage, 0.01));
        CHECK(is_within(*model.estimate->genome_size, kGenome, 0.01));
        CHECK(std::abs(*model.estimate->repeat_fraction - 0.1) < 0.015);
        CHECK(is_within(*model.estimate->error_kmers, errors, 0.05));
        CHECK(is_within(*model.estimate->error_rate, error_rate, 0.05));
        CHECK(std::abs(model.estimate->dispersion - dispersion) < 0.1);
        CHECK(model.estimate->fit > 0.95);
        CHECK_FALSE(model.estimate->heterozygous_coverage);
        CHECK_FALSE(model.estimate->heterozygosity);
        CHECK(*model.error_cutoff >= 2);
        CHECK(static_cast<double>(*model.error_cutoff) < coverage / 1.5);
        CHECK(is_within(static_cast<double>(model.peaks.front().count), coverage, 0.15));
        CHECK(model.peaks.front().kmers > 0);
      }
    }
  }
}

TEST_CASE("diploid genomes, from little to much heterozygosity") {
  for (const double coverage : some<double>({36.0, 60.0, 120.0})) {
    for (const double heterozygosity : some<double>({0.002, 0.01, 0.03})) {
      CAPTURE(coverage);
      CAPTURE(heterozygosity);
      const double shared = std::pow(1 - heterozygosity, 31);
      Expected expected;
      add_peak(expected, 2 * kGenome * (1 - shared), coverage / 2);
      add_peak(expected, kGenome * shared, coverage);
      add_errors(expected, kGenome * coverage, 0.003, 31);
      const auto model = draw(expected).model();
      REQUIRE(model.estimate);
      CHECK(is_within(model.estimate->kmer_coverage, coverage, 0.01));
      REQUIRE(model.estimate->heterozygous_coverage);
      CHECK(is_within(*model.estimate->heterozygous_coverage, coverage / 2, 0.01));
      CHECK(is_within(*model.estimate->heterozygosity, heterozygosity, 0.05));
      CHECK(is_within(*model.estimate->genome_size, kGenome, 0.01));
      CHECK(*model.estimate->repeat_fraction < 0.01);
      CHECK(model.peaks.size() == 2);
    }
  }
}

TEST_CASE("diploid genomes whose heterozygous k-mers are but a shoulder") {
  for (const double genome : some<double>({2e4, kGenome})) {
    for (const double coverage : some<double>({40.0, 60.0, 100.0})) {
      for (const double dispersion : some<double>({0.2, 0.6})) {
        CAPTURE(genome);
        CAPTURE(coverage);
        CAPTURE(dispersion);
        constexpr double kShared = 0.962;
        Expected expected;
        add_peak(expected, 2 * genome * (1 - kShared), coverage / 2, dispersion);
        add_peak(expected, genome * kShared, coverage, dispersion);
        add_errors(expected, genome * coverage, 0.002, 31);
        const auto model = draw(expected).model();
        REQUIRE(model.estimate);
        CHECK(model.estimate->ploidy == 2);
        CHECK(is_within(model.estimate->kmer_coverage, coverage, 0.015));
        CHECK(is_within(*model.estimate->genome_size, genome, 0.03));
      }
    }
  }
}

TEST_CASE("a tail of a haploid genome's peak is no second haplotype") {
  for (const double coverage : some<double>({60.0, 100.0})) {
    CAPTURE(coverage);
    Expected expected;
    add_peak(expected, 0.95 * kGenome / 100, coverage, 0.3);
    // Places that are covered less, down to a tenth.
    for (double share = 0.1; share < 1; share += 0.01)
      add_peak(expected, 0.05 / 90 * kGenome / 100, share * coverage, 0.3);
    add_errors(expected, kGenome / 100 * coverage, 0.002, 31);
    const auto model = draw(expected).model();
    REQUIRE(model.estimate);
    CHECK(model.estimate->ploidy == 1);
    CHECK(is_within(model.estimate->kmer_coverage, coverage, 0.02));
  }
}

TEST_CASE("places of less coverage are no haplotypes, many or few, whatever the others are") {
  struct Case {
    double coverage, thin, least, dispersion;
  };
  for (const Case& one : some<Case>({{88, 0.1, 0.3, 0.6},
                                     {95, 0.1, 0.1, 0.1},
                                     {47, 0.02, 0.5, 0.3},
                                     {82, 0.05, 0.5, 1},
                                     {60, 0.2, 0.1, 0.3},
                                     {33, 0.2, 0.3, 0.6}})) {
    for (const double genome : some<double>({2e4, kGenome})) {
      CAPTURE(one.coverage);
      CAPTURE(one.thin);
      CAPTURE(genome);
      Expected expected;
      add_peak(expected, (1 - one.thin) * genome, one.coverage, one.dispersion);
      add_peak(expected, 0.02 * genome, 2 * one.coverage, one.dispersion);
      constexpr int kSteps = 40;
      for (int i = 0; i < kSteps; ++i) {
        const double share = one.least + (1 - one.least) * (i + 0.5) / kSteps;
        add_peak(expected, one.thin * genome / kSteps, share * one.coverage, one.dispersion);
      }
      add_errors(expected, genome * one.coverage, 0.001, 31);
      const auto model = draw(expected).model();
      REQUIRE(model.estimate);
      REQUIRE(model.runner_up);
      // Where 20,000 k-mers are not enough to tell, it says so.
      const bool is_seen = model.estimate->ploidy == 1;
      const bool is_open = model.runner_up->ploidy == 1 && model.runner_up->is_possible && genome < kGenome;
      CHECK((is_seen || is_open));
      CHECK(is_within(model.estimate->kmer_coverage, one.coverage, 0.02));
      CHECK(model.foreign.empty());
      if (is_seen) CHECK(is_within(*model.estimate->genome_size, genome * 1.04, 0.03));
    }
  }
}

TEST_CASE("errors alone, genomes themselves and nothing at all have no estimate") {
  Expected errors;
  add_errors(errors, 1e7, 0.01, 31);
  Expected genome{{1, 0.93 * kGenome}, {2, 3e4},   {3, 4e3},  {4, 600},
                  {10, 500},           {11, 9000}, {12, 400}, {25, 90}};
  Expected shallow;  // 2x: no valley
  add_peak(shallow, kGenome, 1.7);
  add_errors(shallow, 1.7 * kGenome, 0.005, 31);
  for (const Expected& expected :
       {errors, genome, shallow, Expected{}, Expected{{1, 1e6}}, Expected{{7, 1}}}) {
    const auto model = draw(expected).model();
    CHECK_FALSE(model.estimate);
    CHECK_FALSE(model.reason.empty());
    CHECK((model.peaks.empty() || model.error_cutoff));
  }
}

TEST_CASE("deep reads of a small genome, whose errors are peaks of their own") {
  constexpr double kVirus = 3e4, kK = 31;
  for (const double coverage : some<double>({2000.0, 5000.0, 3e5}, 2)) {
    for (const double error_rate : some<double>({0.003, 0.01})) {
      CAPTURE(coverage);
      CAPTURE(error_rate);
      Expected expected;
      const double once = coverage * error_rate / 3, twice = once * error_rate / 3;
      add_peak(expected, kVirus, coverage, 0.3);
      add_peak(expected, 3 * kK * kVirus, once, 0.3);
      if (twice > 0.5) add_peak(expected, 9 * kK * (kK - 1) / 2 * kVirus, twice, 0.3);
      const auto model = draw(expected).model();
      REQUIRE(model.estimate);
      CHECK(is_within(model.estimate->kmer_coverage, coverage, 0.01));
      CHECK(is_within(*model.estimate->genome_size, kVirus, 0.02));
      CHECK(model.estimate->ploidy == 1);
      CHECK(model.foreign.empty());
      CHECK(static_cast<double>(*model.error_cutoff) > once);
      CHECK(static_cast<double>(*model.error_cutoff) < coverage / 1.5);
    }
  }
}

TEST_CASE("what is deep and small beside a genome is not taken for the genome") {
  struct Beside {
    double kmers, coverage;
  };
  // An organelle, PhiX as deep as to be half of all, a second genome that is nearly as large.
  for (const Beside& other :
       {Beside{0.005 * kGenome, 4000}, Beside{5000, 20000}, Beside{0.6 * kGenome, 4000}}) {
    CAPTURE(other.coverage);
    Expected expected;
    add_peak(expected, kGenome, 40, 0.3);
    add_peak(expected, other.kmers, other.coverage, 0.3);
    add_errors(expected, 40 * kGenome, 0.003, 31);
    const auto model = draw(expected).model();
    REQUIRE(model.estimate);
    CHECK(is_within(model.estimate->kmer_coverage, 40, 0.01));
    CHECK(is_within(*model.estimate->genome_size, kGenome, 0.01));
    CHECK(model.foreign.size() == 1);
  }
}

TEST_CASE("a spike is no coverage") {
  Expected expected{{1, 1e5}, {2, 1e4}, {3, 1e3}, {39, 2e4}, {40, 4e5}, {41, 1.5e4}};
  const auto model = draw(expected).model();
  CHECK(model.peaks.size() == 1);
  CHECK_FALSE(model.estimate);
  CHECK(model.reason.find("shape") != std::string::npos);
}

TEST_CASE("a hump behind a shallow valley is no coverage") {
  Expected expected;  // as of transcripts
  add_peak(expected, 6e4, 30, 8);
  for (std::uint64_t count = 1; count < 40; ++count)
    expected[count] += 2e5 * std::pow(0.4, static_cast<double>(count));
  for (std::uint64_t count = 5; count < 90; ++count) expected[count] += 800;
  const auto model = draw(expected).model();
  CHECK(model.peaks.size() == 1);
  CHECK(model.error_cutoff);
  CHECK_FALSE(model.estimate);
  CHECK(model.reason.find("valley") != std::string::npos);
}

TEST_CASE("a k for which the genome is too large") {
  Expected expected;
  add_peak(expected, kGenome, 40);
  add_errors(expected, 40 * kGenome, 0.005, 12);
  CHECK(draw(expected, 21).model().estimate);
  const auto model = draw(expected, 11).model();
  CHECK_FALSE(model.estimate);
  CHECK(model.reason.find("k is so small") != std::string::npos);
}

TEST_CASE("reads without errors have no valley") {
  Expected expected;
  add_peak(expected, kGenome, 40);
  const auto model = draw(expected).model();
  REQUIRE(model.estimate);
  CHECK(*model.error_cutoff == 0);
  CHECK(*model.estimate->error_kmers == 0);
  CHECK(*model.estimate->error_rate == 0);
  CHECK(is_within(*model.estimate->genome_size, kGenome, 0.01));
}

TEST_CASE("what was not stored is not guessed") {
  Expected expected;
  add_peak(expected, kGenome, 40);
  add_peak(expected, 0.01 * kGenome, 80);
  add_errors(expected, 40 * kGenome, 0.005, 31);
  const auto of_two = draw(expected, 31, 2).model();
  REQUIRE(of_two.estimate);
  CHECK(is_within(of_two.estimate->kmer_coverage, 40, 0.01));
  CHECK(is_within(*of_two.estimate->genome_size, 1.02 * kGenome, 0.01));
  CHECK_FALSE(of_two.estimate->error_kmers);
  CHECK_FALSE(of_two.estimate->error_distinct);
  CHECK_FALSE(of_two.estimate->error_rate);
  const auto up_to_sixty = draw(expected, 31, 1, 60).model();
  REQUIRE(up_to_sixty.estimate);
  CHECK(is_within(up_to_sixty.estimate->kmer_coverage, 40, 0.01));
  CHECK_FALSE(up_to_sixty.estimate->genome_size);
  CHECK_FALSE(up_to_sixty.estimate->repeat_fraction);
  CHECK(draw(expected, 31, 1, 30).model().peaks.empty());  // still rising where it ends
}
