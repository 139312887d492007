#pragma once
/// Feeds a counter's frozen chunks to a reader on the same device that goes through them in order.

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/thread_without_signals.h"
#include "kernels/freeze/frozen_chunk.cuh"
#include "kernels/session/device_counter.cuh"

namespace warpmer::gpu {

/// The counter works in a thread of its own, so that several can be gone through together.
class ChunkFeed : private ChunkSink {
 public:
  /// Begins to count what the counter has, on GPU `gpu`. The counter must outlive the feed.
  ChunkFeed(DeviceCounter& counter, int gpu)
      : thread_(start_thread_without_signals([this, &counter, gpu] { count(counter, gpu); },
                                             "that counts on the GPU")) {}
  /// After an error, too, the counter is left alone afterwards.
  ~ChunkFeed() override {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

  /// True when the chunk that has a shard is there.
  [[nodiscard]] bool has(std::uint32_t shard) {
    const std::lock_guard lock(mutex_);
    return !chunks_.empty() && shard < end_of(chunks_.back());
  }
  /// Waits for the chunk that has a shard; work that is enqueued in `stream` from then on finds it complete.
  /// Throws the counter's error, if there is one.
  const FrozenChunk& chunk_of(std::uint32_t shard, cudaStream_t stream) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || (!chunks_.empty() && shard < end_of(chunks_.back())); });
    if (failure_) std::rethrow_exception(failure_);
    const FrozenChunk& chunk = *std::find_if(chunks_.begin(), chunks_.end(),
                                             [&](const FrozenChunk& some) { return shard < end_of(some); });
    chunk.ready->let_follow(stream);
    return chunk;
  }
  /// Gives the chunks of all shards before `end` back: only work that was enqueued in `stream` so far uses
  /// them.
  void give_back(std::uint32_t end, cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    while (!chunks_.empty() && end_of(chunks_.front()) <= end) {
      passed_[chunks_.front().first_shard].record(stream);
      chunks_.pop_front();
    }
    changed_.notify_all();
  }

  /// Is called after the last chunk. Afterwards the counter can be asked for its reports.
  void finish() {
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void count(DeviceCounter& counter, int gpu) {
    try {
      check(cudaSetDevice(gpu), "choosing a GPU");
      counter.finish(*this);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!is_over_) failure_ = std::current_exception();
      changed_.notify_all();
    }
  }
  void put(FrozenChunk&& chunk) override {
    const std::lock_guard lock(mutex_);
    stop_if_over();
    chunks_.push_back(std::move(chunk));
    changed_.notify_all();
  }
  void wait_for(std::uint32_t first_shard) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_over_ || passed_.count(first_shard) > 0; });
    stop_if_over();
    const auto passed = passed_.extract(first_shard);
    lock.unlock();
    passed.mapped().wait();
  }
  static std::uint32_t end_of(const FrozenChunk& chunk) { return chunk.first_shard + chunk.shards(); }
  void stop_if_over() const {
    if (is_over_) throw InternalError("stopped because nobody takes what was counted");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<FrozenChunk> chunks_;
  std::map<std::uint32_t, Event>
      passed_;  ///< chunks given back, by first shard: passes when nothing works on them
  bool is_over_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace warpmer::gpu
