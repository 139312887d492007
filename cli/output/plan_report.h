#pragma once
/// Prints the report of `warpmer plan` and `warpmer count --dry-run`.

#include "cli/arguments/count_flags.h"
#include "jobs/plan_job.h"

namespace warpmer::cli {

struct PlanRequest {
  CountFlags flags;
  bool full = false;
  std::uint64_t sample_bytes = 0;  ///< 0: the default
  bool json = false;
  bool progress = false;
};

/// Plans the job and prints the prediction on standard output; returns the exit status.
int print_plan(PlanRequest request);

}  // namespace warpmer::cli
