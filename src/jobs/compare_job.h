#pragma once
/// Comparing indexes, all with all.

#include <cstdint>
#include <string>
#include <vector>

#include "backend/indexes/comparison.h"
#include "jobs/session_run.h"

namespace warpmer::jobs {

struct CompareOptions {
  std::vector<std::string> inputs;              ///< two or more indexes
  std::vector<backend::CountBounds> of_inputs;  ///< one for each: which counts to look at
  host::Resources resources;
};

struct Comparison {
  std::uint32_t k = 0;
  backend::ComparisonSums sums;
};

/// Goes through all shards once, for all pairs. The sums are exact and do not depend on the threads. Throws
/// Error.
Comparison compare_indexes(const CompareOptions& options, backend::JobProgress& progress);

}  // namespace warpmer::jobs
