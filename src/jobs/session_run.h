#pragma once
/// The part that every job with sessions has: all input in, frozen shards out to the index file, on a team of
/// threads.

#include <atomic>
#include <cstdint>
#include <functional>

#include "backend/backend.h"
#include "backend/job_progress.h"
#include "host/limits.h"
#include "index/writer/index_writer.h"
#include "io/input_set.h"

namespace warpmer::mpi {
class GroupInput;  // mpi/group_input.h
}  // namespace warpmer::mpi

namespace warpmer::jobs {

/// The report of every job that has written an index.
struct IndexReport {
  index::Totals totals;       ///< totals of the index
  host::Resources resources;  ///< in numbers
  std::uint64_t peak_resident_bytes = 0;
  std::uint64_t index_bytes = 0;
};

/// `CountingSession::finish` of one session, or of what stands for it.
using FinishShards = std::function<void(unsigned thread, const backend::ShardSink& sink,
                                        const std::function<void()>& shard_done)>;

/// Does `work(may_take_text)`: first with true, which allows it to take files for more regular than they must
/// be, and to divide them; then, if it says by false or by io::RawTextRefused that some were not, once more,
/// carefully.
template <class Work>
void retry_parsed(backend::JobProgress& progress, const Work& work) {
  try {
    if (work(true)) return;
  } catch (const io::RawTextRefused&) {
  }
  progress.kmers = 0;
  work(false);
}

/// Returns all shards of a session, of whatever kind; it must live as long.
template <class Session>
FinishShards shards_of(Session& session) {
  return [&session](unsigned thread, const backend::ShardSink& sink,
                    const std::function<void()>& shard_done) { session.finish(thread, sink, shard_done); };
}

class SessionRun {
 public:
  /// `resources` are settled.
  SessionRun(const host::Resources& resources, backend::JobProgress& progress)
      : resources_(resources), progress_(progress) {}

  /// Fills in what a plan says of threads, memory and input, of which reading may hold `reading_bytes`. The
  /// rest may be too little to count with, or nothing; the session says so.
  void complete(backend::CountPlan& plan, const io::InputSet& input, std::uint64_t reading_bytes) const;

  /// Feeds a session with all input, to its end. After io::RawTextRefused it can be called again, with
  /// another input set and session. With several ranks, it returns what this one has read; an error of one
  /// ends all, and instead of io::RawTextRefused `input` says that all must read again.
  backend::ReadTotals read(mpi::GroupInput& input, backend::CountingSession& session, std::uint32_t k);

  /// Takes `shards` shards, all there are or all of this rank, and gives them to `output`.
  void freeze(std::uint32_t shards, const FinishShards& finish, index::ShardOutput& output,
              backend::JobProgress::Stage stage = backend::JobProgress::Stage::counting,
              mpi::ProcessGroup& ranks = mpi::single_process());

  /// Returns how many bytes of finished shards may wait in memory for their places in the file.
  [[nodiscard]] std::uint64_t most_waiting_bytes() const { return resources_.memory_bytes / 16; }

  /// Completes the index file and fills in `report`; the job is done.
  void finish(index::IndexWriter& writer, const index::Totals& totals, const index::Histogram& histogram,
              const index::Provenance& provenance, IndexReport& report);

  /// Fills in what a report says of an index that is complete.
  void fill_in(IndexReport& report, const index::Totals& totals, std::uint64_t index_bytes) const;

  /// Returns the time that `freeze` has spent on writing, on all threads; waiting for earlier shards, and for
  /// what comes from a source, included.
  [[nodiscard]] double write_seconds() const { return write_seconds_; }

 private:
  const host::Resources resources_;
  backend::JobProgress& progress_;
  std::atomic<bool> failed_{false};
  std::atomic<double> write_seconds_{0};
};

}  // namespace warpmer::jobs
