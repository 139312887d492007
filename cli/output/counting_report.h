#pragma once
/// Tells of the work of commands that count, in the end.

#include <string>

#include "cli/output/index_summary.h"
#include "jobs/count_job.h"

namespace warpmer::cli {

/// Returns everything about a run, for `--stats`: the command line and what is the command's `own`, then what
/// all jobs that count report.
Json counting_json(const std::string& command_line, const Json& own, const jobs::CountingReport& report,
                   double wall_seconds);

/// Returns the device that a job ran on, with the reason why, if it was a GPU.
std::string device_text(const jobs::CountingReport& report);

}  // namespace warpmer::cli
