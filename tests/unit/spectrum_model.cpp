// Spectra of known genomes: what the model must find, and when it must say nothing.
// ctest: one thread

#include "engine/spectrum_model.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>

using namespace warpmer;

namespace {

/// Distinct k-mers by count, expected.
using Expected = std::map<std::uint64_t, double>;

double probability(std::uint64_t count, double mean, double dispersion) {
  const auto x = static_cast<double>(count);
  if (dispersion == 0) return std::exp(x * std::log(mean) - mean - std::lgamma(x + 1));
  const double size = mean / dispersion, stay = 1 / (1 + dispersion);
  return std::exp(std::lgamma(x + size) - std::lgamma(size) - std::lgamma(x + 1) + size * std::log(stay) +
                  x * std::log1p(-stay));
}

void add_peak(Expected& spectrum, double kmers, double mean, double dispersion = 0) {
  const auto last = static_cast<std::uint64_t>(mean + 12 * std::sqrt(mean * (1 + dispersion)) + 20);
  for (std::uint64_t count = 1; count <= last; ++count)
    spectrum[count] += kmers * probability(count, mean, dispersion);
}

/// Each further occurrence of an error has a chance of 4 %. Returns the occurrences.
double add_errors(Expected& spectrum, double genomic_kmers, double error_rate, int k) {
  const double right = std::pow(1 - error_rate, k);
  const double kmers = genomic_kmers * (1 - right) / right;
  for (std::uint64_t count = 1; count < 30; ++count)
    spectrum[count] += kmers * 0.96 * 0.96 * std::pow(0.04, static_cast<double>(count - 1));
  return kmers;
}

struct Spectrum {
  index::IndexParams params;
  index::Totals totals;
  index::Histogram histogram;
  [[nodiscard]] engine::SpectrumModel model() const {
    return engine::model_spectrum(params, totals, histogram);
  }
};

/// Numbers drawn around what is expected; only counts from `min_count` to `max_count` are stored.
Spectrum draw(const Expected& expected, std::uint32_t k = 31, std::uint64_t min_count = 1,
              std::uint64_t max_count = UINT64_MAX) {
  Spectrum spectrum;
  spectrum.params.k = k;
  spectrum.totals.min_count = min_count;
  spectrum.totals.max_count = max_count;
  std::mt19937_64 random(11);
  for (const auto& [count, mean] : expected) {
    if (count < min_count || count > max_count || mean <= 0) continue;
    const auto kmers = std::poisson_distribution<std::uint64_t>(mean)(random);
    if (kmers == 0) continue;
    spectrum.histogram[count] = kmers;
    spectrum.totals.stored_kmers += count * kmers;
    spectrum.totals.stored_distinct += kmers;
    spectrum.totals.largest_count = count;
  }
  return spectrum;
}

bool is_within(double value, double expected, double share) {
  return std::abs(value - expected) <= share * expected;
}

constexpr double kGenome = 2e6;

}  // namespace

TEST_CASE("haploid genomes of any coverage and error rate") {
  for (const double coverage : {12.0, 16.4, 25.0, 39.5, 80.0, 400.0}) {
    for (const double error_rate : {0.001, 0.004, 0.01}) {
      for (const double dispersion : {0.0, 0.6}) {
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
  for (const double coverage : {36.0, 60.0, 120.0}) {
    for (const double heterozygosity : {0.002, 0.01, 0.03}) {
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
