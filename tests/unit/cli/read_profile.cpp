// ctest: one thread

#include "cli/output/read_profile.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>

#include "backend/lookup/lookup.h"

using namespace warpmer::cli;
constexpr std::uint64_t kGap = warpmer::backend::Profile::kNoKmer;

namespace {

std::string line_of(std::vector<std::uint64_t> counts) {
  std::string line;
  append_summary_line(line, "r", warpmer::backend::summarise(counts));
  return line;
}

}  // namespace

TEST_CASE("summaries count absent k-mers as 0 and breaks not at all") {
  CHECK(line_of({3, 0, kGap, 5}) == "r\t3\t2\t0\t3\t5\n");
  CHECK(line_of({4}) == "r\t1\t1\t4\t4\t4\n");
  CHECK(line_of({0, 0}) == "r\t2\t0\t0\t0\t0\n");
}

TEST_CASE("the median of an even number is the lower middle") {
  CHECK(line_of({1, 2, 3, 4}) == "r\t4\t4\t1\t2\t4\n");
  CHECK(line_of({9, 1}) == "r\t2\t2\t1\t1\t9\n");
}

TEST_CASE("a read without k-mers has no counts") {
  CHECK(line_of({}) == "r\t0\t0\tNA\tNA\tNA\n");
  CHECK(line_of({kGap, kGap}) == "r\t0\t0\tNA\tNA\tNA\n");
}

TEST_CASE("numbers of every length") {
  std::uint64_t number = 1;
  for (int digits = 1; digits <= 20; ++digits, number *= 10) {
    for (const std::uint64_t n : {number, number - 1, digits == 20 ? UINT64_MAX : 10 * number - 1}) {
      std::string line;
      append_summary_line(line, "", {n + (n == 0 ? 1 : 0), n, n, n, n});
      CHECK(line == fmt::format("\t{}\t{}\t{}\t{}\t{}\n", n == 0 ? 1 : n, n, n, n, n));
    }
  }
}

TEST_CASE("parts of a long read add up to what the whole would give") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> counts(random() % 50);
    const int unused_bits = round % 64;  // few different counts, or none twice
    for (auto& count : counts) {
      count = random() % 4 == 0 ? kGap : random() >> unused_bits;
    }
    PartJoiner joiner;
    std::string joined;
    for (std::size_t begin = 0; begin <= counts.size();) {
      const std::size_t end = std::min(counts.size(), begin + random() % 9 + 1);
      ReadPart part{"r", {}, end == counts.size()};
      add_to_tally({counts.data() + begin, end - begin}, part.tally);
      joined += joiner.add(std::move(part));
      begin = end == counts.size() ? counts.size() + 1 : end;
    }
    CHECK(joined == line_of(counts));
  }
}

TEST_CASE("a joiner starts afresh after each read") {
  PartJoiner joiner;
  CHECK(joiner.add({"a", {{5, 2}}, false}).empty());
  CHECK(joiner.add({"a", {{7, 2}}, true}) == "a\t4\t4\t5\t5\t7\n");
  CHECK(joiner.add({"b", {{1, 1}}, true}) == "b\t1\t1\t1\t1\t1\n");
}

TEST_CASE("profiles: pieces of one read make one line") {
  std::string out;
  const std::vector<std::uint64_t> head{0, 12, kGap};
  const std::vector<std::uint64_t> tail{7};
  append_profile(out, "r", head, true, false);
  append_profile(out, "r", tail, false, true);
  append_profile(out, "none", {}, true, true);
  CHECK(out == "r\t0 12 . 7\nnone\t\n");
}
