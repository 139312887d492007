// Super-k-mers counted group by group give the strings that a path cover of the k-mers gives, in whatever
// order they come.

#include "groups/group_counter.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "doctest/doctest.h"
#include "groups/path_cover.h"
#include "unit/groups/random_sequences.h"

using namespace warpmer;
using namespace warpmer::groups;
using namespace warpmer::tests;

namespace {

template <class Flanks>
struct Strings {
  std::vector<GroupString<Flanks>> strings;
  std::vector<std::uint64_t> counts;
};

template <class Flanks>
void check_equal(const Strings<Flanks>& a, const Strings<Flanks>& b, std::uint32_t n) {
  REQUIRE(a.strings.size() == b.strings.size());
  for (std::size_t i = 0; i < a.strings.size(); ++i) {
    const GroupString<Flanks>&x = a.strings[i], &y = b.strings[i];
    REQUIRE(x.left_bases == y.left_bases);
    REQUIRE(x.right_bases == y.right_bases);
    CHECK(x.left == y.left);
    CHECK(x.right == y.right);
    CHECK(x.smallest_count == y.smallest_count);
    CHECK(x.largest_count == y.largest_count);
    for (std::uint32_t j = 0; x.smallest_count != x.largest_count && j < x.kmers(n); ++j)
      CHECK(a.counts[x.first_count + j] == b.counts[y.first_count + j]);
  }
}

template <class Flanks>
struct Weighed {
  FlankedSuperKmer<Flanks> super;
  std::uint64_t times;
};

/// Counts super-k-mers of one group one k-mer after the other, and covers them.
template <class Flanks>
Strings<Flanks> covered(const std::vector<Weighed<Flanks>>& supers, std::uint32_t n) {
  std::map<std::pair<std::uint32_t, Flanks>, std::uint64_t> kmers;
  for (const auto& [super, times] : supers) {
    for (std::uint32_t layer = n - super.right_bases; layer <= super.left_bases; ++layer)
      kmers[{layer, flanks_at(super.left, super.right, layer, n)}] += times;
  }
  std::vector<Flanks> flanks;
  std::vector<std::uint64_t> counts;
  std::vector<std::uint32_t> begins(n + 2);
  for (const auto& [place, count] : kmers) {
    flanks.push_back(place.second);
    counts.push_back(count);
    for (std::uint32_t layer = place.first + 1; layer < begins.size(); ++layer) ++begins[layer];
  }
  Strings<Flanks> result;
  PathCover<Flanks>(n).cover(flanks, counts, begins.data(), result.strings, result.counts);
  return result;
}

template <class Flanks>
void check_group(GroupCounter<Flanks>& counter, std::vector<Weighed<Flanks>> supers, std::uint32_t n,
                 std::mt19937_64& random) {
  const Strings<Flanks> expected = covered(supers, n);
  for (int order = 0; order < 3; ++order) {
    Strings<Flanks> counted;
    for (const auto& [super, times] : supers) counter.add(super, times);
    std::uint64_t kmers = 0;
    for (const auto& string : expected.strings) kmers += string.kmers(n);
    CHECK(counter.finish(counted.strings, counted.counts) == kmers);
    check_equal(counted, expected, n);
    std::shuffle(supers.begin(), supers.end(), random);
  }
  // Two halves, each as its strings, make the whole.
  Strings<Flanks> merged;
  const std::size_t half = supers.size() / 2;
  for (const auto& part : {std::vector(supers.begin(), supers.begin() + static_cast<std::ptrdiff_t>(half)),
                           std::vector(supers.begin() + static_cast<std::ptrdiff_t>(half), supers.end())}) {
    const Strings<Flanks> strings = covered(part, n);
    for (const GroupString<Flanks>& string : strings.strings) {
      std::vector<std::uint64_t> counts(string.kmers(n), string.smallest_count);
      if (string.smallest_count != string.largest_count) {
        std::copy_n(strings.counts.begin() + static_cast<std::ptrdiff_t>(string.first_count), counts.size(),
                    counts.begin());
      }
      counter.add_string(
          FlankedSuperKmer<Flanks>{0, string.left_bases, string.right_bases, string.left, string.right},
          counts);
    }
  }
  counter.finish(merged.strings, merged.counts);
  check_equal(merged, expected, n);
}

/// Super-k-mers around one minimizer: parts of a few sequences, with errors at a rate.
template <class Flanks>
std::vector<Weighed<Flanks>> random_group(std::uint32_t n, std::size_t sequences, std::size_t reads,
                                          unsigned alphabet, double rate, std::mt19937_64& random) {
  const auto random_flank = [&] {
    Flanks flank = 0;
    for (std::uint32_t i = 0; i < n; ++i) flank = static_cast<Flanks>(flank << 2) | (random() % alphabet);
    return flank;
  };
  std::vector<std::pair<Flanks, Flanks>> places;
  for (std::size_t i = 0; i < sequences; ++i) places.emplace_back(random_flank(), random_flank());
  std::vector<Weighed<Flanks>> supers;
  for (std::size_t i = 0; i < reads; ++i) {
    auto [left, right] = places[random() % places.size()];
    for (Flanks* flank : {&left, &right}) {
      for (std::uint32_t base = 0; base < n; ++base) {
        if (static_cast<double>(random() % 10000) < 10000 * rate)
          *flank ^= static_cast<Flanks>(Flanks{random() % alphabet} << (2 * base));
      }
    }
    const auto a = static_cast<std::uint32_t>(random() % 3 == 0 ? random() % (n + 1) : n);
    const auto b = n - static_cast<std::uint32_t>(random() % 3 == 0 ? random() % (a + 1) : 0);
    supers.push_back({{0, a, b, static_cast<Flanks>(left & key_mask<Flanks>(a)),
                       static_cast<Flanks>(right & key_mask<Flanks>(b))},
                      1 + random() % 3});
  }
  return supers;
}

}  // namespace

TEST_CASE_TEMPLATE("groups of random super-k-mers", Flanks, Key64, Key128) {
  std::mt19937_64 random(1);
  for (const std::uint32_t n : {2u, 3u, 8u, 16u, 17u, 32u, sizeof(Flanks) == 8 ? 31u : 49u}) {
    GroupCounter<Flanks> counter(n);
    for (int round = 0; round < 400; ++round) {
      const std::size_t sequences = 1 + random() % (round % 10 == 0 ? 30 : 4);
      const std::size_t reads = 1 + random() % (round % 10 == 0 ? 200 : 20);
      const unsigned alphabet = round % 3 == 0 ? 2 : 4;
      check_group(counter,
                  random_group<Flanks>(n, sequences, reads, alphabet, round % 2 == 0 ? 0.02 : 0.2, random), n,
                  random);
    }
  }
}

TEST_CASE("counts beyond 32 bits, and groups that are empty") {
  std::mt19937_64 random(2);
  GroupCounter<Key64> counter(16);
  auto supers = random_group<Key64>(16, 2, 10, 4, 0.05, random);
  for (auto& weighed : supers) weighed.times = std::uint64_t{1} << (random() % 60);
  check_group(counter, supers, 16, random);
  Strings<Key64> none;
  CHECK(counter.finish(none.strings, none.counts) == 0);
  CHECK(none.strings.empty());
}
