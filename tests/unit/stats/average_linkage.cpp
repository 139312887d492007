// Clustering against the definition: at every step join the two clusters with the smallest mean distance.
// ctest: one thread

#include "stats/average_linkage.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace warpmer::stats;

namespace {

/// Heights of all joins by the definition, in increasing order.
std::vector<double> heights_by_definition(const std::vector<double>& distances, std::size_t n) {
  std::vector<std::vector<std::size_t>> clusters(n);
  for (std::size_t i = 0; i < n; ++i) clusters[i] = {i};
  std::vector<double> heights;
  while (clusters.size() > 1) {
    double best = 1e300;
    std::size_t first = 0, second = 1;
    for (std::size_t a = 0; a < clusters.size(); ++a) {
      for (std::size_t b = a + 1; b < clusters.size(); ++b) {
        double sum = 0;
        for (const std::size_t i : clusters[a]) {
          for (const std::size_t j : clusters[b]) sum += distances[std::min(i, j) * n + std::max(i, j)];
        }
        const double mean = sum / static_cast<double>(clusters[a].size() * clusters[b].size());
        if (mean < best) {
          best = mean;
          first = a;
          second = b;
        }
      }
    }
    heights.push_back(best);
    clusters[first].insert(clusters[first].end(), clusters[second].begin(), clusters[second].end());
    clusters.erase(clusters.begin() + static_cast<std::ptrdiff_t>(second));
  }
  return heights;
}

}  // namespace

TEST_CASE("average linkage: joins as by definition, and every leaf once in the order") {
  std::mt19937_64 random(4);
  for (const std::size_t n : {1, 2, 3, 5, 17, 40}) {
    CAPTURE(n);
    std::vector<double> distances(n * n);
    for (double& d : distances) d = static_cast<double>(random() % 100000) / 1000;
    const ClusterTree tree = cluster_by_average_linkage(distances, n);
    REQUIRE(tree.joins.size() == n - 1);
    std::vector<double> heights;
    for (std::size_t i = 0; i < tree.joins.size(); ++i) {
      heights.push_back(tree.joins[i].distance);
      CHECK(std::max(tree.joins[i].left, tree.joins[i].right) < n + i);
    }
    std::ranges::sort(heights);
    const std::vector<double> expected = heights_by_definition(distances, n);
    for (std::size_t i = 0; i < heights.size(); ++i) CHECK(heights[i] == doctest::Approx(expected[i]));
    std::vector<std::size_t> leaves = tree.order;
    std::ranges::sort(leaves);
    REQUIRE(leaves.size() == n);
    for (std::size_t i = 0; i < n; ++i) CHECK(leaves[i] == i);
  }
}

TEST_CASE("average linkage: neighbours lie side by side, equal things in the order they came in") {
  // 0 and 3 are alike, 1 and 2 are alike.
  const std::vector<double> distances{0, 9, 9, 1, 0, 0, 2, 9, 0, 0, 0, 9, 0, 0, 0, 0};
  CHECK((cluster_by_average_linkage(distances, 4).order == std::vector<std::size_t>{0, 3, 1, 2}));
  CHECK((cluster_by_average_linkage(std::vector<double>(16, 1.0), 4).order ==
         std::vector<std::size_t>{0, 1, 2, 3}));
  CHECK(cluster_by_average_linkage({}, 0).order.empty());
}
