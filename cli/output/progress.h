#pragma once
/// What a person sees of a running job on stderr.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>

#include "base/share.h"
#include "jobs/count_job.h"

namespace warpmer::cli {

/// JobProgress at one moment.
struct ProgressSnapshot {
  backend::JobProgress::Stage stage = backend::JobProgress::Stage::starting;
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;
  std::uint64_t kmers = 0;
  std::uint32_t shards_done = 0;
  std::uint32_t shards_total = 0;
};

ProgressSnapshot take_snapshot(const backend::JobProgress& progress);

/// One line: bytes done, rate, k-mers, time left where the total is known.
std::string render_progress(const ProgressSnapshot& snapshot, double seconds);

enum class ProgressStyle {
  none,
  terminal,  ///< one line that is overwritten
  lines,     ///< a line a second, for logs
};

/// Shows a job's progress from a thread of its own for as long as it lives, then removes the line.
class ProgressMeter {
 public:
  ProgressMeter(const backend::JobProgress& progress, ProgressStyle style);
  ~ProgressMeter();
  ProgressMeter(const ProgressMeter&) = delete;
  ProgressMeter& operator=(const ProgressMeter&) = delete;

 private:
  void watch();
  void show(const std::string& line) const;

  const backend::JobProgress& progress_;
  const ProgressStyle style_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  std::thread thread_;
};

/// What suits stderr, and `-q`; `forced` is `--progress`.
ProgressStyle progress_style(bool forced);

/// What a job reports, and its wall time.
template <class Report>
struct TimedReport {
  Report report;
  double seconds = 0;
};

/// Tells a meter how much of the output there is, of a stage whose progress that is.
void note_share(backend::JobProgress& progress, backend::JobProgress::Stage stage, const Share& so_far);

/// Runs `job(progress)`, whose result is its report, under a meter.
template <class Job>
auto run_with_meter(ProgressStyle style, Job&& job) {
  const auto start = std::chrono::steady_clock::now();
  backend::JobProgress progress;
  TimedReport<std::invoke_result_t<Job&, backend::JobProgress&>> timed;
  {
    const ProgressMeter meter(progress, style);
    timed.report = job(progress);
  }
  timed.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return timed;
}

}  // namespace warpmer::cli
