#pragma once
/// The progress of a job, and what it has read.

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "base/error.h"

namespace warpmer::backend {

/// Numbers that a running job tells a watcher; they are read at any time from any thread.
struct JobProgress {
  enum class Stage : int {
    starting,
    reading,
    counting,
    combining,
    indexing,
    answering,  ///< the bytes of input that have been answered are done
    writing,    ///< only the share of the bytes matters, not what they stand for
    done
  };
  std::atomic<Stage> stage{Stage::starting};
  std::atomic<std::uint64_t> bytes_done{0};   ///< bytes of input, on disk
  std::atomic<std::uint64_t> bytes_total{0};  ///< 0: unknown
  std::atomic<std::uint64_t> kmers{0};        ///< occurrences seen so far
  std::atomic<std::uint32_t> shards_done{0};
  std::atomic<std::uint32_t> shards_total{0};

  /// A watcher does not want the job to go on: it ends at its next step, by an InternalError.
  std::atomic<bool> is_cancelled{false};
  void cancel() {
    const std::lock_guard lock(mutex_);
    is_cancelled = true;
    if (stop_) stop_();
  }
  void end_if_cancelled() const {
    if (is_cancelled.load(std::memory_order_relaxed)) throw InternalError("the job was cancelled");
  }

  /// While it lives, `cancel` also calls `stop`, from any thread: a step that waits for input has to end.
  /// There is one at a time; `stop` neither throws nor asks the progress.
  class OnCancel {
   public:
    OnCancel(JobProgress& progress, std::function<void()> stop) : progress_(progress) {
      const std::lock_guard lock(progress.mutex_);
      progress.stop_ = std::move(stop);
      if (progress.is_cancelled) progress.stop_();
    }
    ~OnCancel() {
      const std::lock_guard lock(progress_.mutex_);
      progress_.stop_ = nullptr;
    }
    OnCancel(const OnCancel&) = delete;
    OnCancel& operator=(const OnCancel&) = delete;

   private:
    JobProgress& progress_;
  };

 private:
  std::mutex mutex_;
  std::function<void()> stop_;  ///< guarded by it
};

/// Numbers of what has been read.
struct ReadTotals {
  std::uint64_t records = 0;
  std::uint64_t bases = 0;
  std::uint64_t kmers = 0;
};

}  // namespace warpmer::backend
