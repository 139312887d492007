#pragma once
/// K-mers that several indexes share, two by two.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/indexes/set_session.h"
#include "backend/indexes/similarity.h"
#include "backend/job_progress.h"
#include "index/index_file.h"

namespace warpmer::backend {

/// Sums of all samples and of all pairs of them.
struct ComparisonSums {
  std::vector<SampleSums> samples;
  std::vector<PairSums> pairs;  ///< sums for a < b at `pair_number`

  explicit ComparisonSums(std::size_t number = 0) : samples(number), pairs(number * (number - 1) / 2) {}
  /// Returns the bytes of the sums of so many samples, but for a few.
  static std::uint64_t bytes_for(std::size_t number) { return number * (number - 1) / 2 * sizeof(PairSums); }
  /// Returns the number of the pair of samples a and b, a less than b.
  [[nodiscard]] std::size_t pair_number(std::size_t a, std::size_t b) const {
    return a * samples.size() - a * (a + 1) / 2 + b - a - 1;
  }
  [[nodiscard]] const PairSums& pair(std::size_t a, std::size_t b) const {
    return pairs[a < b ? pair_number(a, b) : pair_number(b, a)];
  }
};

/// Goes through all shards once, for all pairs, on the CPU. The indexes have the same parameters; `bounds`
/// has for each which counts to look at. The sums are exact and do not depend on the threads. `memory`
/// keeps a table for each thread (kept_bytes). ResourceError for memory that leaves nothing to work in;
/// InputError for an index that is damaged.
ComparisonSums compare_all(const std::vector<index::IndexFile>& inputs,
                           const std::vector<CountBounds>& bounds, const WorkingMemory& memory,
                           JobProgress& progress);

}  // namespace warpmer::backend
