#pragma once
/// What a counting job is told on the command line, be it to be run or to be planned.

#include "cli/framework/flags.h"
#include "cli/framework/index_target.h"
#include "jobs/count_job.h"

namespace warpmer::cli {

struct CountFlags {
  jobs::CountOptions job;  ///< but for its output, which `target` says
  IndexTargetFlags target;
  CountRange range;
  ReadingFlags reading;
  DeviceFlags device;
  bool forward = false;

  /// Rejects what no job could do; fills in what the job needs to know besides its flags.
  void complete();
};

/// `-k`, `-o`, `--to`, `-t`, `-m`, ...: all that makes a difference to the job, and its inputs.
void add_count_flags(CLI::App& app, CountFlags& flags);

}  // namespace warpmer::cli
