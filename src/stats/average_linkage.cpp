#include "stats/average_linkage.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace warpmer::stats {

namespace {

class Clustering {
 public:
  Clustering(std::vector<double> distances, std::size_t n)
      : n_(n),
        distances_(std::move(distances)),
        is_active_(n, true),
        sizes_(n, 1),
        nodes_(n),
        first_leaves_(n) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) distances_[i * n + j] = distances_[j * n + i];
    }
    std::iota(nodes_.begin(), nodes_.end(), std::size_t{0});
    std::iota(first_leaves_.begin(), first_leaves_.end(), std::size_t{0});
  }

  ClusterTree run() {
    ClusterTree tree;
    std::vector<std::size_t> chain;
    while (tree.joins.size() + 1 < n_) {
      if (chain.empty()) chain.push_back(first_active());
      const std::size_t end = chain.back();
      const std::size_t before = chain.size() > 1 ? chain[chain.size() - 2] : n_;
      const std::size_t next = nearest(end, before);
      if (next != before) {
        chain.push_back(next);
        continue;
      }
      chain.resize(chain.size() - 2);
      tree.joins.push_back(join(std::min(end, before), std::max(end, before), tree.joins.size()));
    }
    append_leaves(tree, n_ == 0 ? 0 : n_ - 1 + tree.joins.size(), tree.order);
    return tree;
  }

 private:
  [[nodiscard]] std::size_t first_active() const {
    return static_cast<std::size_t>(std::find(is_active_.begin(), is_active_.end(), true) -
                                    is_active_.begin());
  }

  /// Returns the cluster nearest to one; of equals `preferred`, which ends chains, then the first.
  [[nodiscard]] std::size_t nearest(std::size_t cluster, std::size_t preferred) const {
    std::size_t best = preferred;
    for (std::size_t i = 0; i < n_; ++i) {
      if (i == cluster || !is_active_[i]) continue;
      if (best == n_ || distances_[cluster * n_ + i] < distances_[cluster * n_ + best]) best = i;
    }
    return best;
  }

  /// Makes one of two clusters, in the place of `a`.
  Join join(std::size_t a, std::size_t b, std::size_t joins) {
    const double distance = distances_[a * n_ + b];
    const auto of_a = static_cast<double>(sizes_[a]), of_b = static_cast<double>(sizes_[b]);
    for (std::size_t i = 0; i < n_; ++i) {
      if (!is_active_[i] || i == a || i == b) continue;
      distances_[a * n_ + i] = distances_[i * n_ + a] =
          (of_a * distances_[a * n_ + i] + of_b * distances_[b * n_ + i]) / (of_a + of_b);
    }
    is_active_[b] = false;
    sizes_[a] += sizes_[b];
    Join joined{nodes_[a], nodes_[b], distance};
    if (first_leaves_[b] < first_leaves_[a]) std::swap(joined.left, joined.right);
    first_leaves_[a] = std::min(first_leaves_[a], first_leaves_[b]);
    nodes_[a] = n_ + joins;
    return joined;
  }

  void append_leaves(const ClusterTree& tree, std::size_t root, std::vector<std::size_t>& leaves) const {
    std::vector<std::size_t> open{root};  // a tree may be as deep as it has leaves
    while (!open.empty() && n_ > 0) {
      const std::size_t node = open.back();
      open.pop_back();
      if (node < n_) {
        leaves.push_back(node);
        continue;
      }
      open.push_back(tree.joins[node - n_].right);
      open.push_back(tree.joins[node - n_].left);
    }
  }

  std::size_t n_;
  std::vector<double> distances_;
  std::vector<bool> is_active_;
  std::vector<std::size_t> sizes_, nodes_, first_leaves_;
};

}  // namespace

ClusterTree cluster_by_average_linkage(std::vector<double> distances, std::size_t n) {
  return Clustering(std::move(distances), n).run();
}

}  // namespace warpmer::stats
