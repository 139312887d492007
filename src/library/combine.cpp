// warpmer::combine: set algebra on index files.

#include <fmt/format.h>

#include "base/error.h"
#include "io/text/repeated_inputs.h"
#include "jobs/set_job.h"
#include "library/argument_checks.h"
#include "library/totals.h"
#include "library/watched_job.h"
#include "warpmer/warpmer.h"

namespace warpmer {

namespace {

backend::SetOperation job_operation(SetOperation operation) {
  switch (operation) {
    case SetOperation::unite:
      return backend::SetOperation::unite;
    case SetOperation::intersect:
      return backend::SetOperation::intersect;
    case SetOperation::subtract:
      return backend::SetOperation::subtract;
    case SetOperation::symmetric_difference:
      return backend::SetOperation::symmetric_difference;
  }
  throw UsageError("there is no such set operation");
}

/// Returns the rule that an operation has if no other is asked for.
CountRule usual_rule(SetOperation operation) {
  if (operation == SetOperation::unite) return CountRule::sum;
  return operation == SetOperation::intersect ? CountRule::min : CountRule::first;
}

backend::CountRule job_rule(SetOperation operation, CountRule rule) {
  const bool is_of_several = operation == SetOperation::unite || operation == SetOperation::intersect;
  const bool is_allowed =
      rule == CountRule::first || rule == CountRule::usual ||
      (rule == CountRule::difference ? operation == SetOperation::subtract : is_of_several);
  if (!is_allowed) {
    throw UsageError(operation == SetOperation::subtract
                         ? "counts of what subtracting leaves are those of the first index, or differences"
                     : is_of_several ? "differences are counts of what subtracting leaves"
                                     : "a k-mer in exactly one index has the count that it has there");
  }
  switch (rule == CountRule::usual ? usual_rule(operation) : rule) {
    case CountRule::sum:
      return backend::CountRule::sum;
    case CountRule::min:
      return backend::CountRule::min;
    case CountRule::max:
      return backend::CountRule::max;
    case CountRule::first:
      return backend::CountRule::first;
    case CountRule::last:
      return backend::CountRule::last;
    case CountRule::samples:
      return backend::CountRule::samples;
    case CountRule::difference:
      return backend::CountRule::difference;
    case CountRule::usual:
      break;
  }
  throw UsageError("there is no such rule for counts");
}

jobs::SetOptions set_job_options(SetOperation operation, const std::vector<std::string>& indexes,
                                 const SetOptions& options, const std::string& output) {
  library::check_output(output, indexes);
  if (options.min_count < 1) throw UsageError("the smallest count kept is at least 1");
  if (options.min_count > options.max_count) {
    throw UsageError(fmt::format("the smallest count kept ({}) is larger than the largest ({})",
                                 options.min_count, options.max_count));
  }
  if (options.min_samples != 1 && operation != SetOperation::unite)
    throw UsageError("a smallest number of indexes is for a union");
  if (options.min_samples < 1) throw UsageError("the smallest number of indexes is at least 1");
  jobs::SetOptions job;
  job.rule = {.operation = job_operation(operation),
              .counts = job_rule(operation, options.counts),
              .min_samples = options.min_samples,
              .of_result = {options.min_count, options.max_count}};
  job.inputs = indexes;
  job.resources = {options.threads, options.memory_bytes};
  job.output = output;
  job.provenance = {.tool_version = version(), .command_line = "libwarpmer", .inputs = {}};
  return job;
}

}  // namespace

Totals combine(SetOperation operation, const std::vector<std::string>& indexes, const SetOptions& options,
               const std::string& output) {
  const auto work = [&](backend::JobProgress& progress) {
    library::check_memory_cap(options.memory_bytes);
    const jobs::SetOptions job = set_job_options(operation, indexes, options, output);
    io::warn_of_repeats(indexes);
    return library::public_totals(jobs::run_set_operation(job, progress).totals);
  };
  const auto hold = [](const backend::JobProgress& /*progress*/) { return nullptr; };
  return library::run_job({options.listener, options.warning_listener}, work, hold);
}

}  // namespace warpmer
