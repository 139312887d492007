#pragma once
/// Counting: reads in, index file out, on whichever backend was chosen.

#include <cstdint>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/count_table.h"
#include "index/index_file.h"
#include "io/input_set.h"
#include "jobs/device_choice.h"
#include "jobs/session_run.h"
#include "kmer/kmer.h"

namespace warpmer::jobs {

struct CountOptions {
  KmerParams kmers;
  backend::CountBounds kept;    ///< counts of the k-mers that go into the index
  bool histogram_only = false;  ///< no index is written, and `output` is not used; with one rank only
  std::string only;  ///< path of the k-mers that are counted alone (jobs/only_kmers.h); empty: all are
  backend::CountTable table =
      backend::CountTable::automatic;  ///< table that shards are counted in; the index does not depend on it
  io::ReadingOptions reading;
  host::Resources resources;
  std::string tmp_directory;        ///< for what memory cannot hold; empty: as host/tmp_directory.h has it
  DeviceChoice device;              ///< unless chosen, the CPU
  std::vector<std::string> inputs;  ///< such as io::InputSet takes; the first rank's count
  std::string input_name = "the input";               ///< their name in warnings
  std::string output;                                 ///< path, or "-"
  index::Provenance provenance;                       ///< `inputs` is filled in by the job
  mpi::ProcessGroup* ranks = &mpi::single_process();  ///< ranks that all run this job
};

/// One rank's part of a job.
struct RankReport {
  std::uint64_t super_kmers = 0;  ///< those for the shards it owns; 0 for k of up to kMaxDenseK
  std::uint64_t distinct_kmers = 0;
  std::uint64_t peak_resident_bytes = 0;
  std::uint64_t spilled_bytes = 0;  ///< in temporary files; the index, too, if it had to wait there
  double read_seconds = 0;
  double cpu_seconds = 0;
};

/// The report of a job that counts, whatever becomes of the counts.
struct CountingReport : IndexReport, backend::SessionReport {
  std::string device;          ///< device that ran it, e.g. "cpu (avx512), 2 threads"
  DeviceChoice device_choice;  ///< why; the CPU, should a GPU that `auto` chose have turned out not to do
  double read_seconds = 0;     ///< wall time until the input was exhausted
  double cpu_seconds = 0;      ///< user + system, whole process
};

/// The report of a job; with several ranks, of rank 0, but for the totals and the bytes of the index.
struct CountReport : CountingReport {
  index::Histogram histogram;     ///< of the k-mers that are kept, if there is no index that has it
  double count_seconds = 0;       ///< wall time from the end of the input to a complete file
  std::vector<RankReport> ranks;  ///< all of them, on rank 0; none in a job of one process
};

/// UsageError for options that no job could have.
void check_options(const CountOptions& options);
/// Returns how a job reads its input, if its resources are settled.
io::InputOptions input_options_for(const CountOptions& options);
/// Returns what a job tells the backend of `device`; `run` is of its threads and memory, of which reading
/// `input` may take `reading_bytes`.
backend::CountPlan count_plan_for(const CountOptions& options, const DeviceChoice& device,
                                  const SessionRun& run, const io::InputSet& input,
                                  std::uint64_t reading_bytes);
/// Returns what is said of a job that, by the forecast of its plan, does not begin.
std::string refusal_of(const backend::CountPlan& plan, const backend::SessionForecast& forecast);

/// Runs a whole counting job, or this process's part of it. Throws Error; then no output file is left.
CountReport count(const CountOptions& options, backend::JobProgress& progress);

}  // namespace warpmer::jobs
