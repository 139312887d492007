// Compares predictions of planning with counting everything naively: the extrapolation of spectra, the sample
// of shards, and the two together.
//
// ctest: one thread

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "jobs/plan_job.h"
#include "random_text.h"
#include "stats/linear_program.h"
#include "stats/prediction.h"
#include "stats/unseen_kmers.h"
#include "tier.h"
#include "unit/io/io_fixture.h"

using namespace warpmer::backend;
using namespace warpmer::jobs;
using namespace warpmer::stats;
using warpmer::tests::random_text;
namespace indexes = warpmer::index;
namespace io = warpmer::io;

namespace {

bool is_in(const Range& range, double truth) {
  return range.low <= truth && truth <= range.high && range.low <= range.estimate &&
         range.estimate <= range.high;
}

TEST_CASE("linear programs whose answers are known") {
  // The most of 3x + 5y where x <= 4, 2y <= 12, 3x + 2y <= 18 (Hillier and Lieberman): x = 2, y = 6.
  const std::vector<LinearConstraint> factory{{{1, 0}, 0, 4}, {{0, 2}, 0, 12}, {{3, 2}, 0, 18}};
  const auto best = maximise({3, 5}, factory);
  REQUIRE(best);
  CHECK((*best)[0] == doctest::Approx(2));
  CHECK((*best)[1] == doctest::Approx(6));
  // The least of x + y where 1 <= x + 2y <= 2 and 1 <= 2x + y: a third of each.
  const auto least = maximise({-1, -1}, {{{1, 2}, 1, 2}, {{2, 1}, 1, 100}});
  REQUIRE(least);
  CHECK((*least)[0] == doctest::Approx(1.0 / 3));
  CHECK((*least)[1] == doctest::Approx(1.0 / 3));
  CHECK_FALSE(maximise({1}, {{{1}, 2, 3}, {{1}, 0, 1}}));  // nothing keeps both
  CHECK_FALSE(maximise({1, 1}, {{{1, 0}, 0, 1}}));         // y has no limit
  // Where steps gain nothing (Beale 1955): it must come to an end.
  const auto beale =
      maximise({0.75, -150, 0.02, -6},
               {{{0.25, -60, -0.04, 9}, 0, 0}, {{0.5, -90, -0.02, 3}, 0, 0}, {{0, 0, 1, 0}, 0, 1}});
  REQUIRE(beale);
  CHECK((*beale)[2] == doctest::Approx(1));
}

/// K-mers of a genome, by how often they occur in reads of it: unique ones, repeats, errors.
std::map<std::uint64_t, std::uint64_t> reads_of_genome(double coverage, double error_share) {
  std::map<std::uint64_t, std::uint64_t> spectrum;
  const auto add = [&](double kmers, double mean) {
    for (double count = 1; count < 3 * mean + 30; ++count) {
      const double here = kmers * std::exp(-mean + count * std::log(mean) - std::lgamma(count + 1));
      spectrum[static_cast<std::uint64_t>(count)] += static_cast<std::uint64_t>(std::llround(here));
    }
  };
  add(90000, coverage);
  add(4000, 2 * coverage);
  add(300, 30 * coverage);
  spectrum[1] += static_cast<std::uint64_t>(100000 * coverage * error_share);
  return spectrum;
}

TEST_CASE("spectra of samples are extrapolated to ranges that hold the truth") {
  std::mt19937_64 random(7);
  for (const double coverage : {0.5, 4.0, 20.0}) {
    for (const double error_share : {0.0, 0.15}) {
      const auto whole = reads_of_genome(coverage, error_share);
      for (const double share : {0.5, 0.1, 0.01}) {
        CAPTURE(coverage);
        CAPTURE(error_share);
        CAPTURE(share);
        SampledSpectrum sample{{}, share, 1};
        double distinct = 0, twice = 0;
        for (const auto& [count, kmers] : whole) {
          distinct += static_cast<double>(kmers);
          twice += count >= 2 ? static_cast<double>(kmers) : 0;
          std::binomial_distribution<std::uint64_t> draw(count, share);
          for (std::uint64_t i = 0; i < kmers; ++i) {
            if (const std::uint64_t hits = draw(random)) ++sample.histogram[hits];
          }
        }
        const KmerBounds all = extrapolate(sample, 1, UINT64_MAX), some = extrapolate(sample, 2, UINT64_MAX);
        CHECK(is_in(all.kmers, distinct));
        CHECK(is_in(some.kmers, twice));
        if (share == 0.5) CHECK(all.kmers.high < 1.2 * all.kmers.low);  // and say something
      }
    }
  }
  const indexes::Histogram histogram{{1, 10}, {3, 5}};
  const KmerBounds known = extrapolate({histogram, 1, 60}, 2, UINT64_MAX);
  CHECK(known.kmers.low == 5);
  CHECK(known.kmers.high == 5);
  CHECK(thinned_distinct(histogram, 0.5) == doctest::Approx(10 * 0.5 + 5 * 0.875));
  CHECK(thinned_distinct(histogram, 1) == 15);
}

/// Reads of 100 bases from both strands of nowhere in particular, one base of 200 wrong.
std::string reads_of(const std::string& genome, std::size_t reads, std::mt19937_64& random, bool sorted) {
  std::string text;
  for (std::size_t i = 0; i < reads; ++i) {
    const std::size_t at = sorted ? i * (genome.size() - 100) / reads
                                  : static_cast<std::size_t>(random() % (genome.size() - 100));
    std::string bases = genome.substr(at, 100);
    for (char& base : bases) {
      if (random() % 200 == 0) base = "ACGT"[random() % 4];
    }
    text += "@r" + std::to_string(i) + "\n" + bases + "\n+\n" + std::string(100, 'I') + "\n";
  }
  return text;
}

struct Truth {
  double kmers = 0, distinct = 0, stored = 0, index_bytes = 0;
};

/// Returns the numbers that counting finds.
Truth truth_of(const CountOptions& options) {
  JobProgress progress;
  const CountReport report = count(options, progress);
  return {static_cast<double>(report.totals.counted_kmers),
          static_cast<double>(report.totals.counted_distinct),
          static_cast<double>(report.totals.stored_distinct), static_cast<double>(report.index_bytes)};
}

void check_plan(const PlanOptions& options, double most_spread) {
  JobProgress progress;
  const PlanReport report = plan(options, progress);
  const Truth truth = truth_of(options.count);
  CHECK(is_in(report.kmers.occurrences, truth.kmers));
  CHECK(is_in(report.kmers.distinct, truth.distinct));
  CHECK(is_in(report.kmers.stored, truth.stored));
  CHECK(is_in(report.index_bytes, truth.index_bytes));
  CHECK(report.kmers.distinct.high <= most_spread * report.kmers.distinct.low);
}

CountOptions count_options(const std::string& input, const std::string& output, std::uint32_t k) {
  CountOptions options;
  options.kmers.k = k;
  options.resources.threads = 1;
  options.resources.memory_bytes = std::uint64_t{1} << 30;
  options.kept.min = 2;
  options.inputs = {input};
  options.output = output;
  return options;
}

TEST_CASE("plans of whole inputs are exact; of samples, ranges hold the truth") {
  const io_test::ScratchFolder folder;
  std::mt19937_64 random(3);
  const std::string genome = random_text(random, 60000);
  for (const bool sorted : {false, true}) {
    CAPTURE(sorted);
    const std::string input = folder.write("reads.fq", reads_of(genome, 9000, random, sorted));
    for (const std::uint32_t k : warpmer::tests::by_tier<std::vector<std::uint32_t>>({31, 11, 64}, {31})) {
      CAPTURE(k);
      PlanOptions options;
      options.count = count_options(input, folder / "out.wmi", k);
      options.full = true;
      check_plan(options, 1);
      options.full = false;
      options.sample_bytes = std::uint64_t{1} << 19;
      check_plan(options, 12);
    }
  }
}

TEST_CASE("a sample of the shards tells how many distinct k-mers all have") {
  std::mt19937_64 random(5);
  const std::string genome = random_text(random, 300000);
  io::Batch batch;
  batch.text.append(genome + genome.substr(0, 50000));
  batch.pieces.push_back({1, 0, 0, static_cast<std::uint32_t>(batch.text.size())});
  SamplePlan plan;
  plan.count.kmers.k = 31;
  plan.most_bytes = 100000;  // about a fifth of the words
  const auto session = make_cpu_sample(plan);
  const std::uint64_t kmers = session->add(batch, 0);
  session->finish(0);
  const KmerSample sample = session->sample();
  std::uint64_t counted = 0, in_shards = 0;
  for (const ShardSample& shard : sample.shards) {
    counted += shard.is_counted ? 1 : 0;
    in_shards += shard.kmers;
  }
  CHECK(kmers == 350000 - 30);
  CHECK(in_shards == kmers);
  CHECK(counted < sample.shards.size());
  const KmerPrediction prediction = predict_kmers(sample, {true, 0, 0, 1, {{kmers, 0}}}, plan.count);
  CHECK(prediction.occurrences.low == prediction.occurrences.high);
  CHECK(is_in(prediction.distinct, 300000));  // at the seam there are 30 new ones
  CHECK(prediction.distinct.high < 1.2 * prediction.distinct.low);
}

}  // namespace
