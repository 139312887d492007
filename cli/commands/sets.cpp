/// `warpmer union`, `intersect`, `subtract`, `symmetric-difference` and `merge`: several indexes in, one out.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/index_inputs.h"
#include "cli/arguments/index_target.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/messages.h"
#include "cli/output/index_summary.h"
#include "cli/output/progress.h"
#include "cli/output/report.h"
#include "host/tmp_directory.h"
#include "io/text/repeated_inputs.h"
#include "jobs/set_job.h"

namespace warpmer::cli {
namespace {

using backend::CountRule;
using backend::SetOperation;

struct NamedRule {
  const char* name;
  CountRule rule;
};

constexpr NamedRule kRules[] = {{"sum", CountRule::sum},
                                {"min", CountRule::min},
                                {"max", CountRule::max},
                                {"first", CountRule::first},
                                {"last", CountRule::last},
                                {"samples", CountRule::samples},
                                {"difference", CountRule::difference}};

/// The properties in which one command differs from the others.
struct SetCommandKind {
  const char* name;
  SetOperation operation;
  std::vector<CountRule> rules;  ///< that `--counts` takes, the default first
  const char* rules_help;
  bool takes_min_samples;
  const char* description;
  const char* examples;
};

struct SetCommand {
  explicit SetCommand(const SetCommandKind& given) : kind(given) {}
  SetCommandKind kind;
  IndexInputs inputs;
  std::string rule;
  IndexTargetFlags target;
  jobs::SetOptions job;  ///< but for its output, which `target` says
  bool progress = false;
  std::string stats;
};

const char* name_of(CountRule rule) {
  for (const NamedRule& named : kRules) {
    if (named.rule == rule) return named.name;
  }
  return "";
}

/// `sum|min|max`
std::string rule_names(const std::vector<CountRule>& rules) {
  std::string names;
  for (const CountRule rule : rules) {
    if (!names.empty()) names += '|';
    names += name_of(rule);
  }
  return names;
}

CountRule chosen_rule(const SetCommand& command) {
  if (command.rule.empty()) return command.kind.rules.front();
  for (const CountRule rule : command.kind.rules) {
    if (command.rule == name_of(rule)) return rule;
  }
  throw UsageError(fmt::format("--counts of {} must be one of {}, not '{}'", command.kind.name,
                               rule_names(command.kind.rules), command.rule));
}

Json report_json(const SetCommand& command, const IndexTarget& target, const jobs::SetReport& report,
                 double wall_seconds) {
  return {{"version", WARPMER_VERSION},
          {"command_line", command.job.provenance.command_line},
          {"operation", command.kind.name},
          {"counts", name_of(command.job.rule.counts)},
          {"inputs", command.job.inputs},
          {"input_distinct", report.input_distinct},
          {"output", target.output()},
          {"format", std::string(formats::name_of(target.format()))},
          {"threads", report.resources.threads},
          {"memory_cap_bytes", report.resources.memory_bytes},
          {"peak_resident_bytes", report.peak_resident_bytes},
          {"index_bytes", report.index_bytes},
          {"wall_seconds", wall_seconds},
          {"totals", totals_json(report.totals)}};
}

void print_summary(const IndexTarget& target, const jobs::SetReport& report, double wall_seconds) {
  print_last_line(fmt::format("{} of {}, {:.1f} s, peak memory {}, {}",
                              counted(report.totals.stored_distinct, "distinct k-mer"),
                              with_thousands(report.input_distinct), wall_seconds,
                              format_bytes(report.peak_resident_bytes), target.summary(report.index_bytes)));
}

/// Rejects what no job could do; fills in what the job needs to know besides its flags.
void complete(SetCommand& command, IndexTarget& target) {
  jobs::SetOptions& job = command.job;
  std::vector<std::string> outputs = target.files();
  outputs.push_back(command.stats);
  backend::SetRule& rule = job.rule;
  check_count_range(rule.of_result);
  rule.counts = chosen_rule(command);
  complete(command.inputs, outputs, job.resources.memory_bytes, job.inputs, job.of_inputs);
  job.output = target.index_path(host::tmp_directory("", target.output()));
  rule.operation = command.kind.operation;
  // In at least some of the inputs is what a union can tell.
  if (rule.operation == SetOperation::intersect && rule.min_samples > 0) rule.operation = SetOperation::unite;
  if (rule.min_samples == 0) rule.min_samples = 1;
}

int run_set_command(SetCommand command) {
  IndexTarget target(command.target);
  complete(command, target);
  io::warn_of_repeats(command.job.inputs);
  StatsFile stats(command.stats);
  const ProgressStyle style = progress_style(command.progress);
  const auto [report, seconds] = run_with_meter(style, [&](backend::JobProgress& progress) {
    jobs::SetReport made = jobs::run_set_operation(command.job, progress);
    target.write(command.job.resources);
    return made;
  });
  stats.write(report_json(command, target, report, seconds));
  stats.finish();
  print_summary(target, report, seconds);
  return kDone;
}

void declare_flags(CLI::App& app, SetCommand& command) {
  add_index_inputs(app, command.inputs);
  add_index_target_flags(app, command.target);
  if (command.kind.rules.size() > 1) {
    app.add_option("--counts", command.rule, command.kind.rules_help)
        ->type_name(rule_names(command.kind.rules));
  }
  if (command.kind.takes_min_samples) {
    add_whole_number(app, "--min-samples", 1, UINT32_MAX, command.job.rule.min_samples,
                     "Keep only k-mers that are in at least N of the inputs.");
  }
  add_count_range_flags(app, command.job.rule.of_result, {.where = " in the result"});
  add_resource_flags(app, command.job.resources);
  add_progress_flag(app, command.progress);
  add_stats_flag(app, command.stats);
}

void add_set_command(Application& application, const SetCommandKind& kind) {
  auto command = std::make_shared<SetCommand>(kind);
  command->job.rule.min_samples = 0;
  CLI::App& app = application.add_command(kind.name, kind.description, kind.examples);
  declare_flags(app, *command);
  command->job.provenance = application.provenance();
  application.on_run(app, [command] { return run_set_command(*command); });
}

constexpr const char* kRulesHelp =
    "Which count a k-mer gets, of its counts in the inputs that have it: their sum, the smallest, the "
    "largest, that of the first or the last of these inputs, or the number of these inputs (samples). "
    "Default: ";

}  // namespace

void add_set_commands(Application& application) {
  static const std::string union_rules = std::string(kRulesHelp) + "sum.";
  static const std::string intersect_rules = std::string(kRulesHelp) + "min.";
  const std::vector<CountRule> sum_first{CountRule::sum,   CountRule::min,  CountRule::max,
                                         CountRule::first, CountRule::last, CountRule::samples};
  const std::vector<CountRule> min_first{CountRule::min,   CountRule::sum,  CountRule::max,
                                         CountRule::first, CountRule::last, CountRule::samples};
  add_set_command(application,
                  {"union", SetOperation::unite, sum_first, union_rules.c_str(), true,
                   "Write an index of the k-mers that are in any of several indexes.\n"
                   "With summed counts it is the index that counting all their sequences together would "
                   "have made.",
                   R"(Examples:
  warpmer union -o all.wmi lane_1.wmi lane_2.wmi
  warpmer union --counts samples -o pangenome.wmi @genomes.txt
  warpmer union --min-samples 2 --counts max -o shared.wmi a.wmi b.wmi c.wmi
)"});
  add_set_command(application,
                  {"intersect", SetOperation::intersect, min_first, intersect_rules.c_str(), true,
                   "Write an index of the k-mers that are in all of several indexes.\n"
                   "With --min-samples, of those that are in at least so many of them.",
                   R"(Examples:
  warpmer intersect -o both.wmi a.wmi b.wmi
  warpmer intersect --counts first -o reads_in_genome.wmi reads.wmi genome.wmi
  warpmer intersect --input-min-count 3,1 -o solid.wmi reads.wmi genome.wmi
  warpmer intersect --min-samples 95 -o core.wmi @hundred_genomes.txt
)"});
  add_set_command(application,
                  {"subtract",
                   SetOperation::subtract,
                   {CountRule::first, CountRule::difference},
                   "first: leave out every k-mer that another index has; the others keep their counts. "
                   "difference: take the other indexes' counts away from the first one's, and leave a "
                   "k-mer out when nothing remains. Default: first.",
                   false,
                   "Write an index of the k-mers of the first index that no other one has.\n"
                   "Or take counts away from counts, with --counts difference.",
                   R"(Examples:
  warpmer subtract -o new.wmi sample.wmi background.wmi contaminants.wmi
  warpmer subtract --counts difference -o rest.wmi all.wmi part.wmi
  warpmer subtract --input-min-count 5,2 -o only.wmi tumour.wmi normal.wmi
)"});
  add_set_command(application, {"symmetric-difference",
                                SetOperation::symmetric_difference,
                                {CountRule::first},
                                "",
                                false,
                                "Write an index of the k-mers that are in exactly one of several indexes.\n"
                                "Each has the count that it has there.",
                                R"(Examples:
  warpmer symmetric-difference -o unlike.wmi a.wmi b.wmi
)"});
  add_set_command(application,
                  {"merge",
                   SetOperation::unite,
                   {CountRule::sum},
                   "",
                   true,
                   "Add several indexes up: a union with summed counts.\n"
                   "Parts of a sample that were counted one by one become the index of the whole sample.",
                   R"(Examples:
  warpmer merge -o sample.wmi part_1.wmi part_2.wmi part_3.wmi
  warpmer merge --min-count 2 -t 8 -m 4G -o solid.wmi @parts.txt
)"});
}

}  // namespace warpmer::cli
