#pragma once
/// Shows the progress of a running job on stderr.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>

#include "base/progress.h"
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

/// Returns one line: bytes done, rate, k-mers, and time left if the total is known.
std::string render_progress(const ProgressSnapshot& snapshot, double seconds);

enum class ProgressStyle {
  none,
  terminal,  ///< one line that is overwritten
  lines,     ///< a line a second, for logs
};

/// Shows a job's progress from a thread of its own while it lives, then removes the line.
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

/// Returns the style that suits stderr, and `-q`; `forced` is `--progress`.
ProgressStyle progress_style(bool forced);

/// A job's report, and its wall time.
template <class Report>
struct TimedReport {
  Report report;
  double seconds = 0;
};

/// Tells a meter how much of the output there is, in a stage whose progress this is.
void note_share(backend::JobProgress& progress, backend::JobProgress::Stage stage, const Progress& so_far);

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
