// Judging reads by the counts of their k-mers.
// ctest: one thread

#include "jobs/read_filter.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace warpmer::backend;
using namespace warpmer::jobs;

namespace {

constexpr std::uint64_t kNone = Profile::kNoKmer;
using Counts = std::vector<std::uint64_t>;

ReadRule rule_of(std::uint64_t min_count, std::uint64_t max_count = UINT64_MAX) {
  ReadRule rule;
  rule.counts = {min_count, max_count};
  return rule;
}

std::string masked(const Counts& counts, std::uint32_t k, const ReadRule& rule, std::string bases) {
  mask_uncovered(counts, k, rule, bases);
  return bases;
}

}  // namespace

TEST_CASE("read filter: found are the k-mers whose count is in range, breaks are none") {
  const Counts counts = {0, 1, 2, 3, kNone, 9, 0};
  const ReadKmers all = count_found(counts, rule_of(1));
  CHECK(all.kmers == 6);
  CHECK(all.found == 4);
  CHECK(count_found(counts, rule_of(2, 3)).found == 2);
  CHECK(count_found(Counts{kNone, kNone}, rule_of(1)).kmers == 0);
  CHECK(count_found(Counts{}, rule_of(1)).fraction() == 0);
}

TEST_CASE("read filter: thresholds are inclusive, and fractions those that were typed") {
  ReadRule rule;
  rule.min_kmers = 3;
  rule.max_kmers = 5;
  CHECK_FALSE(rule.passes({9, 2}));
  CHECK(rule.passes({9, 3}));
  CHECK(rule.passes({9, 5}));
  CHECK_FALSE(rule.passes({9, 6}));

  // 0.07 * 100 is more than 7 in floating point.
  for (const std::uint64_t hundredths : {7, 14, 28, 29, 55, 56, 57, 58}) {
    CAPTURE(hundredths);
    ReadRule exact;
    exact.min_fraction = exact.max_fraction =
        std::stod("0." + std::string(hundredths < 10 ? "0" : "") + std::to_string(hundredths));
    CHECK(exact.passes({100, hundredths}));
    CHECK_FALSE(exact.passes({100, hundredths - 1}));
    CHECK_FALSE(exact.passes({100, hundredths + 1}));
  }
  ReadRule any;
  CHECK(any.passes({0, 0}));
  any.min_fraction = 0.001;
  CHECK_FALSE(any.passes({0, 0}));
}

TEST_CASE("read filter: the range goes from the first covered base to the last") {
  const auto range = [](const Counts& counts, const ReadRule& rule) {
    const BaseRange found = covered_range(counts, 4, rule);
    return std::pair(found.first, found.length);
  };
  CHECK(range({0, 0, 5, 0, 2, 0}, rule_of(1)) == std::pair<std::size_t, std::size_t>(2, 6));
  CHECK(range({0, 0, 5, 0, 2, 0}, rule_of(3)) == std::pair<std::size_t, std::size_t>(2, 4));
  CHECK(range({7}, rule_of(1)) == std::pair<std::size_t, std::size_t>(0, 4));
  CHECK(range({kNone, 0}, rule_of(1)) == std::pair<std::size_t, std::size_t>(0, 0));
  CHECK(range({}, rule_of(1)) == std::pair<std::size_t, std::size_t>(0, 0));
}

TEST_CASE("read filter: masked is what no found k-mer covers") {
  //                                                 0123456789
  CHECK(masked({0, 5, 0, 0, 0, 0, 1, kNone}, 3, rule_of(1), "acgtACGTAC") == "NcgtNNGTAN");
  CHECK(masked({0, 5, 0, 0, 0, 0, 1, kNone}, 3, rule_of(2), "acgtACGTAC") == "NcgtNNNNNN");
  CHECK(masked({}, 3, rule_of(1), "AC") == "NN");
  std::string bases = "ANG";
  CHECK(mask_uncovered(Counts{0}, 3, rule_of(1), bases) == 2);
}

TEST_CASE("read filter: a base of low quality breaks the k-mers it is in") {
  const std::string quality = "III!IIII";
  Counts counts = {1, 2, 3, 4, 5, 6};
  break_at_low_quality(counts, 3, [&](std::size_t base) { return quality[base] == '!'; });
  CHECK(counts == Counts{1, kNone, kNone, kNone, 5, 6});
  Counts none;
  break_at_low_quality(none, 3, [](std::size_t) { return true; });
  CHECK(none.empty());
}
