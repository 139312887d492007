#pragma once
/// A counter's frozen chunks, for somebody on the same device who goes through them in order.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "core/error.h"
#include "device_counter.cuh"

namespace warpmer::gpu {

/// The counter works in a thread of its own, so that several can be gone through together.
class ChunkFeed {
 public:
  /// Begins to count what the counter has, on GPU `gpu`. The counter must outlive the feed.
  ChunkFeed(DeviceCounter& counter, int gpu) : thread_([this, &counter, gpu] { count(counter, gpu); }) {}
  /// After an error, too, the counter is left alone afterwards.
  ~ChunkFeed() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }
  ChunkFeed(const ChunkFeed&) = delete;
  ChunkFeed& operator=(const ChunkFeed&) = delete;

  /// The chunk that has a shard; what is enqueued in `stream` from then on finds it complete. The chunks
  /// before are given back: what was enqueued there so far is all that works on them. Throws what the counter
  /// has thrown.
  const FrozenChunk& chunk_of(std::uint32_t shard, cudaStream_t stream) {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return failure_ || !chunks_.empty(); });
      if (failure_) std::rethrow_exception(failure_);
      const FrozenChunk& chunk = chunks_.front();
      if (shard < chunk.first_shard + chunk.plans.size()) {
        check(cudaStreamWaitEvent(DriverUse(stream), *chunk.ready), "ordering streams");
        return chunk;
      }
      passed_[chunk.first_shard].record(stream);
      chunks_.pop_front();
      changed_.notify_all();
    }
  }

  /// When the last chunk has been had. Afterwards the counter can be asked for what it reports.
  void finish() {
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void count(DeviceCounter& counter, int gpu) {
    try {
      check(cudaSetDevice(gpu), "choosing a GPU");
      counter.finish(
          [&](FrozenChunk&& chunk) {
            const std::lock_guard lock(mutex_);
            stop_if_over();
            chunks_.push_back(std::move(chunk));
            changed_.notify_all();
          },
          [&](std::uint32_t first_shard) {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return is_over_ || passed_.count(first_shard) > 0; });
            stop_if_over();
            const auto passed = passed_.extract(first_shard);
            lock.unlock();
            passed.mapped().wait();
          });
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!is_over_) failure_ = std::current_exception();
      changed_.notify_all();
    }
  }
  void stop_if_over() const {
    if (is_over_) throw InternalError("stopped because nobody takes what was counted");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<FrozenChunk> chunks_;
  std::map<std::uint32_t, Event> passed_;  ///< chunks given back, by first shard: when nothing works on them
  bool is_over_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace warpmer::gpu
