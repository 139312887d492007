#pragma once
/// A session that changes an index: two counting sessions, one for k-mers to add and one for k-mers to
/// remove, and the index they change.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "backend/backend.h"
#include "index/index_file.h"

namespace warpmer::backend {

/// K-mers that were to be removed and are not there.
struct Shortfall {
  std::uint64_t absent_kmers = 0;        ///< distinct k-mers that are not there at all,
  std::uint64_t absent_occurrences = 0;  ///< number of times they were to be removed
  std::uint64_t short_kmers = 0;         ///< distinct k-mers that are there, but fewer times,
  std::uint64_t short_occurrences = 0;   ///< number of times too few, in sum

  [[nodiscard]] bool is_none() const { return absent_kmers == 0 && short_kmers == 0; }
  /// Takes note of a k-mer that was to be removed `missing` times more often than its `there` times.
  void note(std::uint64_t there, std::uint64_t missing) {
    (there == 0 ? absent_kmers : short_kmers) += 1;
    (there == 0 ? absent_occurrences : short_occurrences) += missing;
  }
  void merge(const Shortfall& other) {
    absent_kmers += other.absent_kmers;
    absent_occurrences += other.absent_occurrences;
    short_kmers += other.short_kmers;
    short_occurrences += other.short_occurrences;
  }
};

class UpdatingSession {
 public:
  virtual ~UpdatingSession() = default;

  /// Returns the session that input to be added, or removed, goes to; null when the plan has none. Each takes
  /// batches until all threads have said `end_of_input`; neither is ever told to `finish`.
  [[nodiscard]] virtual CountingSession* added() = 0;
  [[nodiscard]] virtual CountingSession* removed() = 0;

  /// Does the same as CountingSession::finish, with the counts of the index, plus what was added, minus what
  /// was removed, in this order. A k-mer that cannot be removed is noted, and the shard is left without it.
  virtual void finish(unsigned thread, const ShardSink& sink, const std::function<void()>& shard_done) = 0;

  /// To be called after all threads have said `end_of_input`.
  [[nodiscard]] SpillReport spilled() {
    SpillReport all;
    if (added()) all.add(added()->spilled());
    if (removed()) all.add(removed()->spilled());
    return all;
  }

  // After all threads have returned from `finish`.
  [[nodiscard]] virtual Tally tally() const = 0;
  [[nodiscard]] virtual Shortfall shortfall() const = 0;
  [[nodiscard]] virtual SessionReport report() { return report_of_sessions(); }

 protected:
  /// Returns the reports of both sessions, added up. It has no stage through which nothing has passed.
  [[nodiscard]] SessionReport report_of_sessions() {
    SessionReport all;
    for (CountingSession* const session : {added(), removed()}) {
      if (session == nullptr) continue;
      SessionReport one = session->report();
      all.early_counts += one.early_counts;
      all.spilled.add(one.spilled);
      all.device_memory = one.device_memory;
      for (StageReport& stage : one.stages) {
        const auto same = std::find_if(all.stages.begin(), all.stages.end(),
                                       [&](const StageReport& other) { return other.name == stage.name; });
        if (same == all.stages.end()) {
          if (stage.bytes > 0 || stage.busy_seconds > 0) all.stages.push_back(std::move(stage));
        } else {
          same->busy_seconds += stage.busy_seconds;
          same->bytes += stage.bytes;
        }
      }
    }
    return all;
  }
};

/// The work of the two sessions. Both have the same k, strand and number of threads, and no filter. On a CPU
/// each keeps to its own `memory_bytes`; on GPUs both have the same, which is divided between them and what
/// merges, as is `device_memory_bytes`.
struct UpdatePlan {
  std::optional<CountPlan> added, removed;
  std::uint64_t merge_bytes = 0;  ///< on a CPU, what shards that are merged may take, all threads' together
};

/// Host memory that changing an index on a CPU takes besides what its sessions may hold.
struct UpdateNeeds {
  std::uint64_t mapped_bytes = 0;       ///< shards of the index that are looked at
  std::uint64_t least_merge_bytes = 0;  ///< UpdatePlan::merge_bytes at least
};
UpdateNeeds update_needs(const index::IndexFile& index, unsigned threads);

/// Does Backend::start_update for the CPU's backend.
std::unique_ptr<UpdatingSession> make_cpu_update(const UpdatePlan& plan, const index::IndexFile& index);

}  // namespace warpmer::backend
