#pragma once
/// The flags of a counting job on the command line, whether it is to be run or planned.

#include "cli/arguments/flags.h"
#include "cli/arguments/index_target.h"
#include "jobs/count_job.h"

namespace warpmer::cli {

struct CountFlags {
  jobs::CountOptions job;  ///< without its output, which `target` says
  IndexTargetFlags target;
  DeviceFlags device;
  bool forward = false;

  /// Rejects flags with which no job could run, and fills in all that the job needs to know besides its
  /// flags.
  void complete();
};

/// Adds `-k`, `-t`, `-m`, `--device`, ...: those flags that make a difference to how k-mers are counted,
/// whatever becomes of them.
void add_counting_flags(CLI::App& app, CountFlags& flags);
/// Adds these and `-o`, `--to`, `--min-count`, ...: all flags that make a difference to the job, and its
/// inputs.
void add_count_flags(CLI::App& app, CountFlags& flags);

}  // namespace warpmer::cli
