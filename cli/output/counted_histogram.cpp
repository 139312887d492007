#include "cli/output/counted_histogram.h"

#include <fmt/format.h>

#include "cli/arguments/quantity.h"
#include "cli/framework/messages.h"
#include "cli/output/counting_report.h"

namespace warpmer::cli {

TimedReport<jobs::CountReport> count_for_histogram(CountFlags& flags, const std::string& output,
                                                   const std::string& stats, bool progress) {
  jobs::CountOptions& job = flags.job;
  expand_lists(job.inputs, {output, stats}, job.resources.memory_bytes);
  job.histogram_only = true;
  job.output = output;
  flags.complete();
  warn_of(job.device);
  return run_with_meter(progress_style(progress),
                        [&](backend::JobProgress& so_far) { return jobs::count(job, so_far); });
}

void print_counted(const TimedReport<jobs::CountReport>& timed) {
  const jobs::CountReport& report = timed.report;
  print_last_line(fmt::format("{}, {} distinct, {:.1f} s, peak memory {}, no index, on {}",
                              counted(report.totals.counted_kmers, "k-mer"),
                              with_thousands(report.totals.counted_distinct), timed.seconds,
                              format_bytes(report.peak_resident_bytes), device_text(report)));
}

}  // namespace warpmer::cli
