// Spectra of known genomes: what the model must find, and when it must say nothing.
// ctest: one thread

#include "stats/spectrum_model.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>
#include <vector>

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
  [[nodiscard]] stats::SpectrumModel model() const {
    return stats::model_spectrum(params, totals, histogram);
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

TEST_CASE("diploid genomes whose heterozygous k-mers are but a shoulder") {
  for (const double genome : {2e4, kGenome}) {
    for (const double coverage : {40.0, 60.0, 100.0}) {
      for (const double dispersion : {0.2, 0.6}) {
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
  for (const double coverage : {60.0, 100.0}) {
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
  for (const Case& one : {Case{88, 0.1, 0.3, 0.6}, Case{95, 0.1, 0.1, 0.1}, Case{47, 0.02, 0.5, 0.3},
                          Case{82, 0.05, 0.5, 1}, Case{60, 0.2, 0.1, 0.3}, Case{33, 0.2, 0.3, 0.6}}) {
    for (const double genome : {2e4, kGenome}) {
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

namespace {

/// Peaks of `kmers[i]` distinct k-mers at i + 1 times `unit`, with errors.
Expected of_peaks(double unit, const std::vector<double>& kmers, double dispersion = 0.3) {
  Expected expected;
  for (std::size_t i = 0; i < kmers.size(); ++i)
    add_peak(expected, kmers[i], static_cast<double>(i + 1) * unit, dispersion);
  for (std::uint64_t count = 1; count < 8; ++count)
    expected[count] += 2e4 * 0.94 * std::pow(0.06, static_cast<double>(count - 1));
  return expected;
}

}  // namespace

TEST_CASE("which ploidy it is") {
  struct Case {
    double unit;
    std::vector<double> kmers;  // of 1, 2, ... haplotypes: the last is the ploidy
  };
  for (const Case& one :
       {Case{30, {20000}}, Case{20, {8000, 16000}}, Case{9, {9000, 12000}}, Case{55, {1500, 19000}},
        Case{20, {12000, 6000, 10000}}, Case{14, {9000, 5000, 16000}}, Case{20, {16000, 6000, 4000, 4000}},
        Case{33, {11000, 5000, 3000, 9000}}, Case{16, {14000, 6000, 4000, 3000, 5000}},
        Case{15, {12000, 5000, 3000, 2000, 2000, 4000}}, Case{28, {12000, 5000, 4000, 3000, 2000, 7000}}}) {
    const auto ploidy = static_cast<unsigned>(one.kmers.size());
    double size = 0;
    for (unsigned i = 0; i < ploidy; ++i) size += (i + 1) * one.kmers[i] / ploidy;
    CAPTURE(ploidy);
    CAPTURE(one.unit);
    for (const double dispersion : {0.1, 0.5}) {
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
  for (const double coverage : {57.5, 88.0, 112.0}) {
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
  for (const Case& one : {Case{150, 7, 8000}, Case{120, 16, 6000}, Case{80, 33, 7000}, Case{40, 100, 3000},
                          Case{40, 61, 5000}, Case{40, 300, 3000}, Case{25, 600, 2000}}) {
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
