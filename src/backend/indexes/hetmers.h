#pragma once
/// Pairs of k-mers that differ in one base, as smudgeplot counts them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/job_progress.h"
#include "host/limits.h"
#include "index/index_file.h"

namespace warpmer::backend {

/// How many pairs there are of each two counts.
class PairFrequencies {
 public:
  /// Pairs whose counts sum up to more are no pairs.
  static constexpr std::uint32_t kMostSum = 1000;
  /// Smaller counts from here on have no row: there is one such pair of counts, 500 and 500.
  static constexpr std::uint32_t kSmallerCounts = 500;

  PairFrequencies() : pairs_(std::size_t{kMostSum + 1} * kSmallerCounts) {}

  /// Adds pairs of counts whose sum is at most kMostSum. Called concurrently.
  void add(std::uint32_t count, std::uint32_t other, std::uint64_t pairs);

  /// Calls `visit(smaller, larger, pairs)` for all counts that there are, in order of their sums.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::uint32_t sum = 0; sum <= kMostSum; ++sum) {
      for (std::uint32_t smaller = 0; smaller < kSmallerCounts; ++smaller) {
        const std::uint64_t pairs = pairs_[place(sum, smaller)];
        if (pairs > 0) visit(smaller, sum - smaller, pairs);
      }
    }
  }
  /// Returns the number of all pairs.
  [[nodiscard]] std::uint64_t total() const;

 private:
  static std::size_t place(std::uint32_t sum, std::uint32_t smaller) {
    return std::size_t{sum} * kSmallerCounts + smaller;
  }
  std::vector<std::uint64_t> pairs_;
};

struct HetmerPlan {
  bool at_any_base = false;     ///< else at the middle one; then k must be odd
  std::uint64_t min_count = 1;  ///< rarer k-mers are as if they were not there
  host::Resources resources;    ///< settled
  std::string tmp_directory;    ///< for what memory cannot hold
};

/// Counts the pairs of k-mers on either strand that differ in one base, and of which neither differs so from
/// a third one. K-mers are taken as they stand on both strands, so a pair counts twice, once on each; but one
/// whose strands are the same pair counts once. The index is canonical. What does not fit into memory at once
/// is done in several passes over the index. ResourceError when not even a small part fits; InputError for an
/// index that is damaged.
PairFrequencies find_hetmers(const index::IndexFile& index, const HetmerPlan& plan, JobProgress& progress);

}  // namespace warpmer::backend
