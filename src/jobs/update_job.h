#pragma once
/// Updating: an index and reads in, another index out, that of the index's input with the reads added or
/// taken away.

#include <string>
#include <vector>

#include "jobs/count_job.h"

namespace warpmer::jobs {

struct UpdateOptions {
  std::string index;
  std::vector<std::string> added, removed;  ///< inputs; at least one
  CountOptions count;  ///< for both, but for the k-mers, which are the index's; all counts are kept
};

struct UpdateReport : CountingReport {
  backend::ReadTotals added, removed;
  double update_seconds = 0;  ///< wall time from the end of the input to a complete file
};

/// Runs a whole updating job. k and strand are the index's. The index written is the one that
/// counting the resulting reads makes, but for its provenance; records and bases are sums and differences of
/// those of the inputs, at least 0. Throws Error, and then no output file is left; InputError when k-mers are
/// to be removed that are not there, or not so often.
UpdateReport update(const UpdateOptions& options, backend::JobProgress& progress);

}  // namespace warpmer::jobs
