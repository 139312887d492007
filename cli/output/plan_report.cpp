#include "cli/output/plan_report.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/warning.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/exit_status.h"
#include "cli/output/progress.h"
#include "cli/output/report.h"

namespace warpmer::cli {
namespace {

using jobs::PlanReport;
using stats::Range;

// --- As JSON.

Json range_json(const Range& range, bool is_whole_number) {
  const auto number = [&](double value) { return is_whole_number ? Json(std::llround(value)) : Json(value); };
  return {{"estimate", number(range.estimate)}, {"low", number(range.low)}, {"high", number(range.high)}};
}

Json range_json(const std::optional<Range>& range, bool is_whole_number) {
  return range ? range_json(*range, is_whole_number) : Json(nullptr);
}

Json plan_json(const PlanRequest& request, const PlanReport& report) {
  const jobs::CountOptions& job = request.flags.job;
  return {{"version", WARPMER_VERSION},
          {"k", job.kmers.k},
          {"strand", strand_name(job.kmers.canonical)},
          {"inputs", job.inputs},
          {"read_everything", report.is_whole},
          {"input_bytes", report.input_bytes},
          {"sample_bytes", report.sample_bytes},
          {"sample_kmers", report.sample_kmers},
          {"inputs_begun_only", report.begun_inputs},
          {"shards", report.shards},
          {"counted_shards", report.counted_shards},
          {"locality", report.kmers.locality ? Json(*report.kmers.locality) : Json(nullptr)},
          {"plan_seconds", report.seconds},
          {"kmers", range_json(report.kmers.occurrences, true)},
          {"distinct_kmers", range_json(report.kmers.distinct, true)},
          {"stored_kmers", range_json(report.kmers.stored, true)},
          {"index_bytes", range_json(report.index_bytes, true)},
          {"super_kmer_bytes", range_json(report.kmers.pending_bytes, true)},
          {"device", report.device},
          {"threads", report.resources.threads},
          {"memory_cap_bytes", report.resources.memory_bytes},
          {"peak_resident_bytes", range_json(report.memory_bytes, true)},
          {"needed_memory_bytes", range_json(report.needed_memory_bytes, true)},
          {"unhurried_memory_bytes", range_json(report.unhurried_memory_bytes, true)},
          {"beyond_memory_bytes", range_json(report.beyond_memory_bytes, true)},
          {"temporary_bytes", range_json(report.temporary_bytes, true)},
          {"device_memory_bytes", range_json(report.device_memory_bytes, true)},
          {"read_seconds", range_json(report.read_seconds, false)},
          {"count_seconds", range_json(report.count_seconds, false)},
          {"fits", report.refusal.empty()},
          {"refusal", report.refusal.empty() ? Json(nullptr) : Json(report.refusal)}};
}

// --- As text.

std::string amount_text(double amount) {
  return format_amount(static_cast<std::uint64_t>(std::llround(amount)));
}
std::string seconds_text(double seconds) {
  return seconds < 60 ? fmt::format("{:.1f} s", seconds) : format_clock(seconds);
}

/// A line with an estimate and what it is between, unless that is one number.
void print_range(TextOutput& output, std::string_view label, const Range& range,
                 std::string (*text)(double)) {
  const std::string estimate = text(range.estimate), low = text(range.low), high = text(range.high);
  print_field(output, label, low == high ? estimate : fmt::format("{:<12}({} to {})", estimate, low, high));
}
void print_range(TextOutput& output, std::string_view label, const std::optional<Range>& range,
                 std::string (*text)(double)) {
  if (range) print_range(output, label, *range, text);
}

std::string basis_text(const PlanReport& report) {
  const std::string read = format_bytes(report.sample_bytes);
  if (report.is_whole) return read + ", all of the input";
  const double percent =
      100 * static_cast<double>(report.sample_bytes) / static_cast<double>(report.input_bytes);
  std::string text = fmt::format("{} of {} ({:.3g} %)", read, format_bytes(report.input_bytes), percent);
  if (report.begun_inputs > 0) {
    text += fmt::format(", of {} file{} the beginning only", report.begun_inputs,
                        report.begun_inputs == 1 ? "" : "s");
  }
  return text;
}

void print_text(const PlanReport& report, TextOutput& output) {
  print_field(output, "read", basis_text(report));
  if (report.counted_shards < report.shards)
    print_field(output, "counted", fmt::format("{} of {} shards", report.counted_shards, report.shards));
  print_range(output, "k-mers", report.kmers.occurrences, amount_text);
  print_range(output, "  distinct", report.kmers.distinct, amount_text);
  print_range(output, "  distinct, kept", report.kmers.stored, amount_text);
  print_range(output, "index", report.index_bytes, format_bytes);
  print_field(output, "device", report.device);
  print_field(output, "memory cap", format_bytes(report.resources.memory_bytes));
  print_range(output, "peak memory", report.memory_bytes, format_bytes);
  print_range(output, "  needed", report.needed_memory_bytes, format_bytes);
  print_range(output, "  to count once", report.unhurried_memory_bytes, format_bytes);
  print_range(output, "  beyond the cap", report.beyond_memory_bytes, format_bytes);
  print_range(output, "temporary files", report.temporary_bytes, format_bytes);
  print_range(output, "device memory", report.device_memory_bytes, format_bytes);
  print_range(output, "time to read", report.read_seconds, seconds_text);
  print_range(output, "time to count", report.count_seconds, seconds_text);
  print_field(output, "fits", report.refusal.empty() ? "yes" : "no: " + report.refusal);
}

}  // namespace

int print_plan(PlanRequest request) {
  if (request.full && request.sample_bytes > 0)
    throw UsageError("--full reads everything and --sample a part; leave one of them out");
  const jobs::CountOptions& count = request.flags.job;
  check_standard_input({{"as an input", count.inputs}, {"for --only", {count.only}}});
  // Refuses the outputs that the job would refuse.
  const IndexTargetFlags& target = request.flags.target;
  std::vector<std::string> outputs;
  if (!target.output.empty() && target.output != "-") outputs = IndexTarget(target).files();
  request.flags.job.output = target.output;
  expand_lists(request.flags.job.inputs, outputs, request.flags.job.resources.memory_bytes);
  request.flags.complete();
  warn_of(request.flags.job.device);
  jobs::PlanOptions options;
  options.count = request.flags.job;
  options.full = request.full;
  if (request.sample_bytes > 0) options.sample_bytes = request.sample_bytes;
  const PlanReport report =
      run_with_meter(progress_style(request.progress), [&](backend::JobProgress& progress) {
        return jobs::plan(options, progress);
      }).report;
  if (report.sample_kmers == 0 && !count.only.empty()) {
    warn(fmt::format("none of the k-mers of {} is in what was read", count.only));
  } else if (report.sample_kmers == 0) {
    warn(fmt::format("there is no k-mer in what was read: no sequence, or none of {} known bases in a row",
                     options.count.kmers.k));
  }
  io::warn_of_phred64(request.flags.job.reading.qualities);
  write_report(
      {"-", request.json}, [&] { return plan_json(request, report); },
      [&](TextOutput& output) { print_text(report, output); });
  return kDone;
}

}  // namespace warpmer::cli
