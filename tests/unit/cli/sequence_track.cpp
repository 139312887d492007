// ctest: one thread

#include "cli/output/sequence_track.h"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "backend/lookup/lookup.h"

using namespace warpmer::cli;

namespace {

constexpr std::uint64_t kGap = warpmer::backend::Profile::kNoKmer;
using Counts = std::vector<std::uint64_t>;

TrackRule bedgraph() { return {TrackRule::TrackFormat::bedgraph, 5, {}}; }
TrackRule bed(std::uint64_t min = 1, std::uint64_t max = UINT64_MAX) {
  return {TrackRule::TrackFormat::bed, 5, {min, max}};
}

/// In pieces that begin at `cuts`, the first at 0.
std::string text_of(const TrackRule& rule, const Counts& counts, const std::vector<std::size_t>& cuts = {0}) {
  TrackJoiner joiner(rule.format);
  std::string out;
  const auto write = [&](std::string_view lines) { out += lines; };
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const bool last = i + 1 == cuts.size();
    const std::size_t end = last ? counts.size() : cuts[i + 1];
    joiner.add(make_track_part(rule, "s", {counts.data() + cuts[i], end - cuts[i]}, cuts[i], last), write);
  }
  return out;
}

/// Base by base, whole.
std::string covered(const TrackRule& rule, const Counts& counts) {
  std::vector<bool> bases(counts.size() + rule.k, false);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == kGap || !rule.found.contains(counts[i])) continue;
    std::fill_n(bases.begin() + static_cast<std::ptrdiff_t>(i), rule.k, true);
  }
  std::string out;
  for (std::size_t i = 0; i < bases.size(); ++i) {
    if (!bases[i]) continue;
    const std::size_t begin = i;
    while (i < bases.size() && bases[i]) ++i;
    out += "s\t" + std::to_string(begin) + "\t" + std::to_string(i) + "\n";
  }
  return out;
}

/// Count by count, whole.
std::string runs(const Counts& counts) {
  std::string out;
  for (std::size_t i = 0; i < counts.size();) {
    std::size_t end = i + 1;
    while (end < counts.size() && counts[end] == counts[i]) ++end;
    if (counts[i] != kGap) {
      out += "s\t" + std::to_string(i) + "\t" + std::to_string(end) + "\t" + std::to_string(counts[i]) + "\n";
    }
    i = end;
  }
  return out;
}

}  // namespace

TEST_CASE("bedGraph: runs of equal counts, zeros included, breaks not") {
  CHECK(text_of(bedgraph(), {3, 3, 0, 0, kGap, kGap, 0, 7}) ==
        "s\t0\t2\t3\ns\t2\t4\t0\ns\t6\t7\t0\ns\t7\t8\t7\n");
  CHECK(text_of(bedgraph(), {kGap, kGap}).empty());
  CHECK(text_of(bedgraph(), {}).empty());
}

TEST_CASE("BED: bases of found k-mers; what touches is one interval") {
  CHECK(text_of(bed(), {0, 2, 9, 0, 0, 0, 0, 0, 1, kGap}) == "s\t1\t7\ns\t8\t13\n");
  CHECK(text_of(bed(), {1, 0, 0, 0, 0, 1}) == "s\t0\t10\n");
  CHECK(text_of(bed(0, 0), {1, 0, 2, kGap}) == "s\t1\t6\n");
  CHECK(text_of(bed(2, 3), {1, 2, 3, 4}) == "s\t1\t7\n");
  CHECK(text_of(bed(), {0, kGap}).empty());
}

TEST_CASE("a sequence in pieces has the intervals of the whole") {
  std::mt19937 random(3);
  for (int round = 0; round < 400; ++round) {
    Counts counts(random() % 60);
    const unsigned varied = 1 + random() % 4;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto fresh = random() % 5 == 0 ? kGap : random() % varied;
      counts[i] = i > 0 && random() % 2 == 0 ? counts[i - 1] : fresh;
    }
    std::vector<std::size_t> cuts{0};
    while (cuts.back() < counts.size() && random() % 6 != 0)
      cuts.push_back(std::min<std::size_t>(counts.size(), cuts.back() + random() % 12));
    CHECK(text_of(bedgraph(), counts, cuts) == runs(counts));
    for (const TrackRule& rule : {bed(), bed(0, 0), bed(2, 2)})
      CHECK(text_of(rule, counts, cuts) == covered(rule, counts));
  }
}

TEST_CASE("sequences that follow each other stay apart") {
  TrackJoiner joiner(TrackRule::TrackFormat::bed);
  std::string out;
  const auto write = [&](std::string_view lines) { out += lines; };
  joiner.add(make_track_part(bed(), "a", Counts{1, 1}, 0, true), write);
  joiner.add(make_track_part(bed(), "a", Counts{1}, 0, true), write);
  joiner.add(make_track_part(bed(), "none", Counts{}, 0, true), write);
  joiner.add(make_track_part(bed(), "b", Counts{0, 1}, 0, true), write);
  CHECK(out == "a\t0\t6\na\t0\t5\nb\t1\t6\n");
}
