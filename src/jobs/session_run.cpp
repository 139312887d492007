#include "jobs/session_run.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "host/limits.h"
#include "mpi/group_input.h"
#include "mpi/process_group.h"

namespace warpmer::jobs {

namespace {

/// Reserve for what is accounted for nowhere: stacks, allocator slack, the C++ runtime.
constexpr std::uint64_t kSlackBytes = std::uint64_t{24} << 20;

}  // namespace

void SessionRun::complete(backend::CountPlan& plan, const io::InputSet& input,
                          std::uint64_t reading_bytes) const {
  plan.threads = resources_.threads;
  const std::uint64_t spoken_for =
      host::resident_bytes() + reading_bytes + plan.ranks->memory_bytes() + kSlackBytes;
  plan.memory_bytes = resources_.memory_bytes - std::min(resources_.memory_bytes, spoken_for);
  plan.other_bytes = spoken_for;
  plan.memory_cap_bytes = resources_.memory_bytes;
  plan.input_bytes = input.progress().bytes_total;
  plan.spill.input_read = [&progress = progress_] {
    return Progress{progress.bytes_done, progress.bytes_total};
  };
}

backend::ReadTotals SessionRun::read(mpi::GroupInput& input, backend::CountingSession& session,
                                     std::uint32_t k) {
  progress_.stage = backend::JobProgress::Stage::reading;
  failed_ = false;
  const auto stop = [&] {
    failed_ = true;
    input.cancel();
  };
  const mpi::ProcessGroup::Watch watch(input.ranks(), stop);
  const backend::JobProgress::OnCancel on_cancel(progress_, [&] { input.cancel(); });
  std::atomic<std::uint64_t> all_bases{0}, all_kmers{0};
  run_team(
      resources_.threads,
      [&](unsigned thread) {
        io::Batch batch;
        std::uint64_t bases = 0, kmers = 0;
        // Of several ranks all have to begin again.
        const auto run = [&](auto&& step) {
          try {
            const std::uint64_t completed = step();
            kmers += completed;
            progress_.kmers += completed;
          } catch (const io::RawTextRefused&) {
            if (!input.ranks().are_several()) throw;
            input.give_up_parts();
            return false;
          }
          return true;
        };
        while (!failed_ && input.next(batch, thread)) {
          for (const io::Piece& piece : batch.pieces) bases += piece.new_bases(k);
          const bool is_of_part = batch.is_of_part;
          try {
            run([&] { return session.add(batch, thread); });
          } catch (const InputError&) {
            if (!is_of_part) throw;
            input.give_up_parts();
          }
          const io::InputProgress bytes = input.own().progress();
          progress_.bytes_done = bytes.bytes_done;
          progress_.bytes_total = bytes.bytes_total;
          progress_.end_if_cancelled();
        }
        progress_.end_if_cancelled();
        // The last batches may be in error, one after the other, and the session must know of the end.
        while (!run([&] { return session.end_of_input(thread); })) continue;
        all_bases += bases;
        all_kmers += kmers;
      },
      [&] {
        input.ranks().report(std::current_exception());  // first: others end with errors of their own
        stop();
      });
  const backend::FoundInText found = session.found_in_text();
  return {input.own().records() + found.records, all_bases + found.bases, all_kmers};
}

void SessionRun::freeze(std::uint32_t shards, const FinishShards& finish, index::ShardOutput& output,
                        backend::JobProgress::Stage stage, mpi::ProcessGroup& ranks) {
  progress_.shards_total = shards;
  progress_.stage = stage;
  const auto stop = [&] {
    failed_ = true;
    output.cancel_waiting();
  };
  const mpi::ProcessGroup::Watch watch(ranks, stop);
  const auto put = [&](std::uint32_t shard, index::FrozenShard&& frozen) {
    const auto start = Clock::now();
    output.put(shard, std::move(frozen));
    // Shards wait in memory for those before them. One that takes long (a hot k-mer), or a device that is
    // ahead of the one before it, must not make all others pile up. The thread that has the next shard has
    // not put it, so it is never the thread that waits.
    output.wait_for_place(shard, most_waiting_bytes());
    write_seconds_ += seconds_since(start);
    progress_.end_if_cancelled();
    if (failed_) throw InternalError("stopped because another thread failed");
  };
  const backend::ShardSink sink(put, &output, [&] { return output.take_spare(); });
  run_team(
      resources_.threads, [&](unsigned thread) { finish(thread, sink, [&] { ++progress_.shards_done; }); },
      [&] {
        ranks.report(std::current_exception());  // first: others end with errors of their own
        stop();
      });
}

void SessionRun::finish(index::IndexWriter& writer, const index::Totals& totals,
                        const index::Histogram& histogram, const index::Provenance& provenance,
                        IndexReport& report) {
  writer.finish(totals, histogram, provenance);
  fill_in(report, totals, writer.bytes_written());
  progress_.stage = backend::JobProgress::Stage::done;
}

void SessionRun::fill_in(IndexReport& report, const index::Totals& totals, std::uint64_t index_bytes) const {
  report.totals = totals;
  report.resources = resources_;
  report.peak_resident_bytes = host::peak_resident_bytes();
  report.index_bytes = index_bytes;
}

}  // namespace warpmer::jobs
