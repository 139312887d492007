#pragma once
/// Counting for the histogram alone: no index is written.

#include <string>

#include "cli/arguments/count_flags.h"
#include "cli/output/progress.h"

namespace warpmer::cli {

/// Counts the inputs that the flags name, after it has put in what lists name. `output` and `stats` are the
/// files that the command is going to write.
TimedReport<jobs::CountReport> count_for_histogram(CountFlags& flags, const std::string& output,
                                                   const std::string& stats, bool progress);

/// Says on stderr what was counted: the line at the end, to be printed when the output is complete.
void print_counted(const TimedReport<jobs::CountReport>& timed);

}  // namespace warpmer::cli
