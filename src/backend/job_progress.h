#pragma once
/// The progress of a job, and what it has read.

#include <atomic>
#include <cstdint>

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
  void end_if_cancelled() const {
    if (is_cancelled.load(std::memory_order_relaxed)) throw InternalError("the job was cancelled");
  }
};

/// Numbers of what has been read.
struct ReadTotals {
  std::uint64_t records = 0;
  std::uint64_t bases = 0;
  std::uint64_t kmers = 0;
};

}  // namespace warpmer::backend
