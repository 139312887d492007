#pragma once
/// Hierarchical clustering by average linkage (UPGMA).

#include <cstddef>
#include <vector>

namespace warpmer::stats {

/// A cluster of two others. Leaves are numbered 0 to n - 1, and joins from n on in their order.
struct Join {
  std::size_t left, right;  ///< the one with the smaller first leaf is on the left
  double distance;          ///< mean distance of a leaf of one to a leaf of the other
};

struct ClusterTree {
  std::vector<Join> joins;         ///< n - 1; the last one is the root. Children come before their parents.
  std::vector<std::size_t> order;  ///< the leaves from left to right
};

/// Clusters n things by the n x n distances between them, of which those above the diagonal are read. It
/// follows chains of nearest neighbours (Murtagh 1983): n^2 steps, which average linkage allows, as joining
/// two clusters brings nothing nearer to any third than both were. Among equals the smallest number goes
/// first, so that the result is a function of the distances.
ClusterTree cluster_by_average_linkage(std::vector<double> distances, std::size_t n);

}  // namespace warpmer::stats
