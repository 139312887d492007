#pragma once
/// A job on a thread of its own, whose caller is told how far it is, and what it warns of.

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "backend/job_progress.h"
#include "base/thread_without_signals.h"
#include "base/warning.h"
#include "file/output/output_group.h"
#include "file/output/temp_file_registry.h"
#include "library/as_error.h"
#include "warpmer/warpmer.h"

namespace warpmer::library {

[[nodiscard]] inline JobStage public_stage(backend::JobProgress::Stage stage) {
  using Stage = backend::JobProgress::Stage;
  switch (stage) {
    case Stage::starting:
      return JobStage::starting;
    case Stage::reading:
    case Stage::answering:
      return JobStage::reading;
    case Stage::counting:
    case Stage::indexing:
      return JobStage::counting;
    case Stage::combining:
      return JobStage::combining;
    case Stage::writing:
      return JobStage::writing;
    case Stage::done:
      return JobStage::done;
  }
  return JobStage::done;
}

[[nodiscard]] inline JobStatus public_status(const backend::JobProgress& progress) {
  return {.stage = public_stage(progress.stage),
          .bytes_done = progress.bytes_done,
          .bytes_total = progress.bytes_total,
          .kmers = progress.kmers,
          .parts_done = progress.shards_done,
          .parts_total = progress.shards_total};
}

/// Those who hear of a job. Either may be empty.
struct JobListeners {
  const JobListener& status;
  const WarningListener& warnings;
};

/// Runs on a thread of its own, while the caller listens.
template <class Result>
class WatchedJob {
 public:
  /// The listeners live as long.
  template <class Work, class Hold>
  WatchedJob(const JobListeners& listeners, Work work, Hold hold)
      : listeners_(listeners),
        thread_(start_thread_without_signals(
            [this, work = std::move(work), hold = std::move(hold)] { run(work, hold); }, "for the job")) {}
  ~WatchedJob() {
    {
      const std::lock_guard lock(mutex_);
      progress_.cancel();
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  /// Returns what the work does, or throws what it throws, or a listener.
  Result wait() {
    constexpr std::chrono::milliseconds kBetween{100};
    std::unique_lock lock(mutex_);
    while (!is_ended_) {
      const auto is_due = [this] { return is_ended_ || is_asking(); };
      if (has_heard_the_end_) {
        changed_.wait(lock, is_due);
      } else {
        changed_.wait_for(lock, kBetween, is_due);
      }
      if (is_ended_) break;
      const bool is_asked = is_asking();
      has_heard_the_end_ = has_heard_the_end_ || is_complete_;
      const std::string* const warning = warning_;
      lock.unlock();
      warning != nullptr ? listeners_.warnings(*warning) : tell_status();
      lock.lock();
      if (!is_asked) continue;
      warning_ = nullptr;
      is_complete_ = false;
      changed_.notify_all();
    }
    if (thrown_) rethrow_as_error(thrown_);
    return *std::move(result_);
  }

 private:
  template <class Work, class Hold>
  void run(const Work& work, const Hold& hold) {
    std::optional<ThreadWarnings> warnings;
    if (listeners_.warnings) warnings.emplace([this](const std::string& message) { warn_caller(message); });
    std::optional<Result> result;
    std::exception_ptr thrown;
    try {
      [[maybe_unused]] const auto held = hold(progress_);
      file::OutputGroup outputs;
      result = work(progress_);
      {
        // The caller hears of the end before the output has its name, so that there is none if it throws.
        std::unique_lock lock(mutex_);
        is_complete_ = true;
        wait_for_answer(lock);
      }
      outputs.name_all();
    } catch (...) {
      thrown = std::current_exception();
    }
    try {
      if (warnings) {
        for (const std::string& sentence : file::take_left_behind()) warn(sentence);
      }
    } catch (...) {  // the caller knows: it is what its listener threw
    }
    const std::lock_guard lock(mutex_);
    result_ = std::move(result);
    thrown_ = thrown;
    is_ended_ = true;
    changed_.notify_all();
  }

  /// Waits until the caller has heard of it. Throws when it does not want the job any more.
  void warn_caller(const std::string& message) {
    std::unique_lock lock(mutex_);
    warning_ = &message;
    wait_for_answer(lock);
  }

  /// True while the job waits until the caller has heard of something.
  [[nodiscard]] bool is_asking() const { return warning_ != nullptr || is_complete_; }
  void wait_for_answer(std::unique_lock<std::mutex>& lock) {
    changed_.notify_all();
    changed_.wait(lock, [this] { return !is_asking() || progress_.is_cancelled; });
    warning_ = nullptr;
    is_complete_ = false;
    progress_.end_if_cancelled();
  }

  void tell_status() const {
    if (listeners_.status) listeners_.status(public_status(progress_));
  }

  const JobListeners listeners_;
  backend::JobProgress progress_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  const std::string* warning_ = nullptr;  ///< which the caller has to be told
  bool is_complete_ = false;              ///< the job wants to name its output
  bool has_heard_the_end_ = false;        ///< the caller has, and is asked no more
  bool is_ended_ = false;
  std::optional<Result> result_;
  std::exception_ptr thrown_;
  std::thread thread_;  ///< the last member: it uses all others
};

/// Returns what `work(progress)` returns, or throws an Error or what a listener throws. What `hold(progress)`
/// returns lives until the output has its name. The caller's own thread does none of it: a write beyond the
/// limit on file sizes, or to a pipe that nobody reads, is an error on a thread without signals, and would
/// end the process on another.
template <class Work, class Hold>
auto run_job(const JobListeners& listeners, Work work, Hold hold) {
  using Result = decltype(work(std::declval<backend::JobProgress&>()));
  return WatchedJob<Result>(listeners, std::move(work), std::move(hold)).wait();
}

}  // namespace warpmer::library
