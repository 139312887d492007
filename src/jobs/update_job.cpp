#include "jobs/update_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/backend.h"
#include "backend/empty_input.h"
#include "backend/index_params.h"
#include "backend/update_session.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory_text.h"
#include "host/limits.h"
#include "index/index_file.h"
#include "index/known_totals.h"
#include "jobs/changeable_index.h"
#include "jobs/device_choice.h"
#include "jobs/session_run.h"
#include "kmer/kmer.h"
#include "kmer/minimizer.h"
#include "mpi/group_input.h"

namespace warpmer::jobs {

namespace {

/// An index that can be changed: made with this program's hashes, and complete.
void check(const index::IndexFile& index) {
  backend::check_params(index);
  const std::string why = why_unchangeable(index);
  if (!why.empty()) throw InputError(why);
}

std::string kmers_text(std::uint64_t kmers, std::uint64_t occurrences) {
  return fmt::format("{} distinct k-mer{} ({} occurrence{})", kmers, kmers == 1 ? "" : "s", occurrences,
                     occurrences == 1 ? "" : "s");
}

[[noreturn]] void throw_shortfall(const backend::Shortfall& shortfall, const UpdateOptions& options) {
  std::string what;
  if (shortfall.absent_kmers > 0) {
    what = kmers_text(shortfall.absent_kmers, shortfall.absent_occurrences) + " that are not there at all";
  }
  if (shortfall.short_kmers > 0) {
    if (!what.empty()) what += ", and ";
    what += kmers_text(shortfall.short_kmers, shortfall.short_occurrences) + " more than are there";
  }
  throw InputError(
      fmt::format("{}{} cannot be taken from {}{}: --remove has {}; remove only what was counted, "
                  "read with the same options",
                  options.removed[0], options.removed.size() > 1 ? ", ..." : "", options.index,
                  options.added.empty() ? "" : " and what --add brings", what));
}

class UpdateJob {
 public:
  /// The resources are settled, and the options live as long.
  UpdateJob(const UpdateOptions& options, backend::JobProgress& progress)
      : options_(options),
        count_(options.count),
        threads_(count_.resources.threads),
        memory_cap_(count_.resources.memory_bytes),
        progress_(progress),
        run_(count_.resources, progress),
        device_(count_.device),
        index_(options.index, host::memory_left(memory_cap_)) {
    check(index_);
    count_.kmers = {index_.params().k, index_.params().canonical};
    if (device_.cpu_devices > 1) throw UsageError("update runs on one CPU or on GPUs; use --device cpu");
  }

  UpdateReport run() {
    retry_parsed(progress_, [&](bool may_take_text) {
      report_ = {};
      update(may_take_text);
      return true;
    });
    return report_;
  }

 private:
  void update(bool may_take_text) {
    std::optional<mpi::GroupInput> added, removed;
    if (!options_.added.empty()) added.emplace(options_.added, input_options_for(count_));
    if (!options_.removed.empty()) removed.emplace(options_.removed, input_options_for(count_));
    index::IndexWriter writer(count_.output, index_.params(), threads_);
    const auto session = with_fallback(device_, [&] {
      backend_ = make_backend(device_);
      return backend_->start_update(plan(added, removed), index_);
    });
    for (auto* input : {&added, &removed}) {
      if (*input && may_take_text) (*input)->enable_raw_text(*backend_);
    }
    const auto start = Clock::now();
    if (added) report_.added = run_.read(*added, *session->added(), k());
    if (removed) report_.removed = run_.read(*removed, *session->removed(), k());
    report_.read_seconds = seconds_since(start);
    check_sum();
    const auto middle = Clock::now();
    if (session->spilled().written_bytes > 0) writer.leave_cache();
    run_.freeze(index_.params().shards(), shards_of(*session), writer);
    if (const backend::Shortfall shortfall = session->shortfall(); !shortfall.is_none())
      throw_shortfall(shortfall, options_);
    if (added) backend::warn_if_empty(report_.added, k(), "what --add names");
    if (removed) backend::warn_if_empty(report_.removed, k(), "what --remove names");
    io::warn_of_phred64(count_.reading.qualities);
    const index::Histogram histogram = session->tally().histogram();
    // The sum of the index's counts was known (check_sum), unless it lied.
    if (index::exceeds_totals(histogram))
      index::refuse_damaged(index_, "its counts add up to more than it says");
    run_.finish(writer, totals(*session), histogram, provenance(added, removed), report_);
    report_.update_seconds = seconds_since(middle);
    report_.cpu_seconds = host::cpu_seconds();
    report_.device = fmt::format("{}, {}", backend_->describe(), number_of_threads(threads_));
    report_.device_choice = device_;
    static_cast<backend::SessionReport&>(report_) = session->report();
    report_.stages.push_back({"write", run_.write_seconds(), report_.index_bytes});
  }

  [[nodiscard]] std::uint32_t k() const { return index_.params().k; }

  /// Makes the plan. On a CPU, ResourceError with the least cap that would do, where this one does not.
  [[nodiscard]] backend::UpdatePlan plan(std::optional<mpi::GroupInput>& added,
                                         std::optional<mpi::GroupInput>& removed) const {
    std::uint64_t reading = 0;
    for (const auto* input : {&added, &removed}) {
      if (*input) reading = std::max(reading, (*input)->own().memory_bytes(threads_));
    }
    backend::UpdatePlan plan;
    if (added) plan.added = count_plan_for(count_, device_, run_, added->own(), reading);
    if (removed) plan.removed = count_plan_for(count_, device_, run_, removed->own(), reading);
    if (!device_.gpus.empty()) return plan;  // its sessions know themselves what they take
    const std::uint64_t spoken_for = (plan.added ? plan.added : plan.removed)->other_bytes;
    const backend::UpdateNeeds needs = backend::update_needs(index_, threads_);
    const auto does = [&](std::uint64_t cap) { return divide(cap, spoken_for, needs, *backend_, plan); };
    if (does(memory_cap_)) return plan;
    constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
    std::uint64_t too_little = memory_cap_ / kMebibyte, enough = too_little + 1;
    constexpr std::uint64_t kMost = UINT64_MAX / kMebibyte / 2;
    for (; enough < kMost && !does(enough * kMebibyte); enough *= 2) too_little = enough;
    while (enough - too_little > 1) {
      const std::uint64_t between = (too_little + enough) / 2;
      (does(between * kMebibyte) ? enough : too_little) = between;
    }
    throw ResourceError(
        host::memory_refusal(memory_cap_, "updating " + options_.index, threads_, enough * kMebibyte));
  }

  /// Divides what a cap leaves besides what is spoken for: a quarter is for merging, the sessions share the
  /// rest. False when that is too little for one of them.
  [[nodiscard]] bool divide(std::uint64_t cap, std::uint64_t spoken_for, const backend::UpdateNeeds& needs,
                            const backend::Backend& backend, backend::UpdatePlan& plan) const {
    if (cap <= spoken_for + needs.mapped_bytes + needs.least_merge_bytes) return false;
    const std::uint64_t left = cap - spoken_for - needs.mapped_bytes;
    plan.merge_bytes = k() <= kMaxDenseK ? 0 : std::max(needs.least_merge_bytes, left / 4);
    const std::uint64_t each = (left - plan.merge_bytes) / (plan.added && plan.removed ? 2 : 1);
    for (auto* session : {&plan.added, &plan.removed}) {
      if (!*session) continue;
      (*session)->memory_cap_bytes = cap;
      (*session)->memory_bytes = each;
      (*session)->other_bytes = cap - each;
      if (!backend.forecast(**session, {})->begins) return false;
    }
    return true;
  }

  /// No count is larger than the sum of all, so that no device has to look for counts that wrap. (They are
  /// all added before any is taken away.)
  void check_sum() const {
    if (Key128{index_.totals().stored_kmers} + report_.added.kmers <= UINT64_MAX) return;
    throw InputError(fmt::format(
        "the counts of {} and of what --add brings add up to more than 2^64 - 1, which an index cannot hold; "
        "{}",
        index_.path(),
        options_.removed.empty() ? "count what is new by itself, and use union --counts max"
                                 : "remove what is to be removed first, in an update of its own"));
  }

  [[nodiscard]] index::Totals totals(const backend::UpdatingSession& session) const {
    index::Totals totals = session.tally().totals();
    const index::Totals& before = index_.totals();
    const auto changed = [](std::uint64_t was, std::uint64_t more, std::uint64_t less) {
      return was + more - std::min(was + more, less);
    };
    if (!index::knows_reads(before)) return totals;
    totals.records = changed(before.records, report_.added.records, report_.removed.records);
    totals.bases = changed(before.bases, report_.added.bases, report_.removed.bases);
    return totals;
  }

  /// Returns the index, and then every file that was read.
  [[nodiscard]] index::Provenance provenance(const std::optional<mpi::GroupInput>& added,
                                             const std::optional<mpi::GroupInput>& removed) const {
    index::Provenance provenance = count_.provenance;
    provenance.inputs = {options_.index};
    for (const auto* input : {&added, &removed}) {
      if (!*input) continue;
      const auto files = (*input)->own().files();
      provenance.inputs.insert(provenance.inputs.end(), files.begin(), files.end());
    }
    return provenance;
  }

  const UpdateOptions& options_;
  CountOptions count_;
  unsigned threads_;
  std::uint64_t memory_cap_;
  backend::JobProgress& progress_;
  SessionRun run_;
  DeviceChoice device_;
  index::IndexFile index_;
  std::unique_ptr<backend::Backend> backend_;
  UpdateReport report_;
};

}  // namespace

UpdateReport update(const UpdateOptions& options, backend::JobProgress& progress) {
  if (options.added.empty() && options.removed.empty())
    throw UsageError("nothing to add and nothing to remove: give --add FILE or --remove FILE");
  UpdateOptions settled_options = options;
  settled_options.count.resources = host::settled(options.count.resources);
  return UpdateJob(settled_options, progress).run();
}

}  // namespace warpmer::jobs
