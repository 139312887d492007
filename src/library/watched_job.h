#pragma once
/// A job whose caller is told how far it is.

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "backend/job_progress.h"
#include "base/thread_without_signals.h"
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

/// Runs on a thread of its own, while the caller listens.
template <class Result>
class WatchedJob {
 public:
  template <class Work>
  explicit WatchedJob(Work work)
      : thread_(start_thread_without_signals([this, work = std::move(work)] { run(work); })) {}
  ~WatchedJob() {
    progress_.is_cancelled = true;
    if (thread_.joinable()) thread_.join();
  }
  WatchedJob(const WatchedJob&) = delete;
  WatchedJob& operator=(const WatchedJob&) = delete;

  /// Returns what the work does, or throws what it throws, or the listener.
  Result wait(const JobListener& listener) {
    constexpr std::chrono::milliseconds kBetween{100};
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kBetween, [this] { return is_ended_; })) {
      lock.unlock();
      listener(public_status(progress_));
      lock.lock();
    }
    if (thrown_) rethrow_as_error(thrown_);
    lock.unlock();
    listener(public_status(progress_));
    return *std::move(result_);
  }

 private:
  template <class Work>
  void run(const Work& work) {
    std::optional<Result> result;
    std::exception_ptr thrown;
    try {
      result = work(progress_);
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    result_ = std::move(result);
    thrown_ = thrown;
    is_ended_ = true;
    ended_.notify_one();
  }

  backend::JobProgress progress_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable ended_;
  bool is_ended_ = false;
  std::optional<Result> result_;
  std::exception_ptr thrown_;
  std::thread thread_;  ///< the last member: it uses all others
};

/// Returns what `work(progress)` returns, or throws an Error; if there is a listener, it hears of it.
template <class Work>
auto run_job(const JobListener& listener, Work&& work) {
  if (!listener) {
    backend::JobProgress progress;
    return with_errors([&] { return work(progress); });
  }
  using Result = decltype(work(std::declval<backend::JobProgress&>()));
  return WatchedJob<Result>(std::forward<Work>(work)).wait(listener);
}

}  // namespace warpmer::library
