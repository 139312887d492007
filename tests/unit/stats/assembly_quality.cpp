// ctest: one thread

#include "stats/assembly_quality.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace warpmer::stats;

TEST_CASE("error rate and quality value by Merqury's formula") {
  for (const std::uint32_t k : {15u, 21u, 31u, 64u}) {
    for (const AssemblyKmers sums : {AssemblyKmers{1000, 10}, {1'000'000, 1}, {50, 49}}) {
      const double missing = static_cast<double>(sums.missing) / static_cast<double>(sums.kmers);
      const double expected = 1 - std::pow(1 - missing, 1.0 / k);
      CHECK(base_error_rate(sums, k) == doctest::Approx(expected).epsilon(1e-7));
      CHECK(quality_value(sums, k) == doctest::Approx(-10 * std::log10(expected)).epsilon(1e-7));
    }
  }
}

TEST_CASE("rates too small for the plain formula") {
  const AssemblyKmers sums{1'000'000'000'000'000'000, 1};  // the plain formula rounds to 0
  CHECK(base_error_rate(sums, 20) == doctest::Approx(5e-20).epsilon(1e-9));
  CHECK(quality_value(sums, 20) == doctest::Approx(193.0103).epsilon(1e-6));
}

TEST_CASE("nothing missing, all missing, nothing there") {
  CHECK(base_error_rate({10, 0}, 21) == 0);
  CHECK_FALSE(std::signbit(base_error_rate({10, 0}, 21)));
  CHECK(quality_value({10, 0}, 21) == std::numeric_limits<double>::infinity());
  CHECK(base_error_rate({10, 10}, 21) == 1);
  CHECK(quality_value({10, 10}, 21) == 0);
  CHECK_FALSE(std::signbit(quality_value({10, 10}, 21)));
  CHECK(std::isnan(base_error_rate({0, 0}, 21)));
  CHECK(std::isnan(quality_value({0, 0}, 21)));
  CHECK(completeness(3, 4) == 75);
  CHECK(std::isnan(completeness(0, 0)));
}
