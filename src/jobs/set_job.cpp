#include "jobs/set_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/indexes/index_set.h"
#include "base/error.h"
#include "base/warning.h"
#include "host/limits.h"
#include "index/known_totals.h"
#include "jobs/result_bounds.h"

namespace warpmer::jobs {

namespace {

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }

void check(const SetOptions& options) {
  const std::size_t inputs = options.inputs.size();
  if (inputs == 0) throw UsageError("no input; name indexes");
  const bool needs_two = options.rule.operation == backend::SetOperation::subtract ||
                         options.rule.operation == backend::SetOperation::symmetric_difference;
  if (needs_two && inputs < 2) throw UsageError("one index has nothing to differ from; name two or more");
  if (options.rule.min_samples > inputs) {
    throw UsageError(fmt::format("no k-mer can be in at least {} of {} input{}; lower --min-samples",
                                 options.rule.min_samples, inputs, inputs == 1 ? "" : "s"));
  }
  if (options.of_inputs.size() > 1 && options.of_inputs.size() != inputs) {
    throw UsageError(
        fmt::format("{} ranges of counts are given for {} inputs; give one for all, or one for each",
                    options.of_inputs.size(), inputs));
  }
}

class SetJob {
 public:
  SetJob(const SetOptions& options, backend::JobProgress& progress)
      : options_(options),
        resources_(host::settled(options.resources)),
        progress_(progress),
        memory_{.cap = resources_.memory_bytes,
                .writer_share = 16,  // of all, for shards that wait for others
                .threads = resources_.threads,
                .inputs = options.inputs.size()},
        inputs_(backend::open_alike(options.inputs, memory_)) {}

  SetReport run() {
    const index::IndexParams& params = inputs_.front().params();
    backend::SetPlan plan = make_plan();
    if (adds_up()) warn_of_filtered();
    index::IndexWriter writer(options_.output, params, resources_.threads);
    const auto session = backend::make_cpu_set_session(plan, inputs_);
    SessionRun run(resources_, progress_);
    run.freeze(params.shards(), shards_of(*session), writer, backend::JobProgress::Stage::combining);
    const backend::Tally tally = session->tally();
    SetReport report;
    for (const auto& input : inputs_) report.input_distinct += input.totals().stored_distinct;
    index::Provenance provenance = options_.provenance;
    provenance.inputs = options_.inputs;
    run.finish(writer, totals(tally, plan), tally.histogram(), provenance, report);
    return report;
  }

 private:
  [[nodiscard]] backend::SetPlan make_plan() const {
    backend::SetPlan plan;
    plan.rule = options_.rule;
    for (std::size_t i = 0; i < inputs_.size(); ++i) plan.of_inputs.push_back(bounds_of(i));
    plan.memory = memory_;
    return plan;
  }

  /// True when the result would be of all that the inputs are of.
  [[nodiscard]] bool adds_up() const {
    return options_.rule.operation == backend::SetOperation::unite && options_.rule.min_samples <= 1;
  }

  void warn_of_filtered() const {
    std::size_t filtered = 0;
    std::string first;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].totals().left_out() > 0 && filtered++ == 0)
        first = options_.names.empty() ? inputs_[i].path() : options_.names[i];
    }
    if (filtered == 0) return;
    warn(fmt::format(
        "'{}'{} {} k-mers that --min-count or --max-count left out, so the result is not what counting "
        "all reads at once would give; make parts without them, and filter the result",
        first, filtered == 1 ? "" : fmt::format(" and {} more", filtered - 1),
        filtered == 1 ? "lacks" : "lack"));
  }

  [[nodiscard]] backend::CountBounds bounds_of(std::size_t input) const {
    if (options_.of_inputs.empty()) return {};
    return options_.of_inputs.size() == 1 ? options_.of_inputs.front() : options_.of_inputs[input];
  }

  [[nodiscard]] index::Totals totals(const backend::Tally& tally, const backend::SetPlan& plan) const {
    index::Totals totals = tally.totals();
    check_sum(tally.histogram());
    const std::size_t sources =
        options_.rule.operation == backend::SetOperation::subtract ? 1 : inputs_.size();
    const bool is_known = std::all_of(inputs_.begin(), inputs_.begin() + static_cast<std::ptrdiff_t>(sources),
                                      [](const auto& input) { return index::knows_reads(input.totals()); });
    for (std::size_t i = 0; i < sources && is_known; ++i) {
      totals.records = saturating_add(totals.records, inputs_[i].totals().records);
      totals.bases = saturating_add(totals.bases, inputs_[i].totals().bases);
    }
    std::vector<backend::CountBounds> bounds;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      bounds.push_back(kept_bounds(inputs_[i].totals(), plan.of_inputs[i]));
      if (!adds_up()) continue;
      totals.counted_kmers = saturating_add(totals.counted_kmers, left_out(inputs_[i], plan.of_inputs[i]));
    }
    const backend::CountBounds filter = result_bounds(plan, bounds);
    const bool has_chosen = std::ranges::any_of(
        inputs_, [](const index::IndexFile& input) { return input.totals().are_chosen != 0; });
    totals.are_chosen = has_chosen || !adds_up() ? 1 : 0;
    totals.min_count = filter.min;
    totals.max_count = filter.max;
    return totals;
  }

  static void check_sum(const index::Histogram& histogram) {
    if (index::exceeds_totals(histogram)) {
      throw InputError(
          "all counts of the result add up to more than 2^64 - 1, which an index cannot hold; use "
          "union --counts max, or leave large ones out (--input-max-count)");
    }
  }

  /// Returns the bounds of an input's counts, after the filter for it.
  static backend::CountBounds kept_bounds(const index::Totals& input, const backend::CountBounds& filter) {
    const std::uint64_t least = std::max(input.min_count, filter.min);
    return {least, std::max(least, std::min(input.max_count, filter.max))};
  }

  /// Returns the occurrences of an input's k-mers that the result cannot know of: its own filter left them
  /// out, or the one that the operation has for it.
  static std::uint64_t left_out(const index::IndexFile& input, const backend::CountBounds& filter) {
    std::uint64_t occurrences = input.totals().left_out();
    for (const auto& [count, kmers] : input.histogram()) {
      if (!filter.contains(count)) occurrences = saturating_add(occurrences, count * kmers);
    }
    return occurrences;
  }

  const SetOptions& options_;
  const host::Resources resources_;
  backend::JobProgress& progress_;
  backend::WorkingMemory memory_;
  std::vector<index::IndexFile> inputs_;
};

}  // namespace

SetReport run_set_operation(const SetOptions& options, backend::JobProgress& progress) {
  check(options);
  return SetJob(options, progress).run();
}

}  // namespace warpmer::jobs
