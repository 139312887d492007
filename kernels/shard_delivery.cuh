#pragma once
/// The way of frozen shards from the GPUs to whoever writes them.

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/backend.h"
#include "peers.cuh"
#include "shard_queue.cuh"

namespace warpmer::gpu {

/// Where a GPU's chunks go; as DeviceCounter::finish has it.
struct ChunkOutlets {
  std::function<void(FrozenChunk&&)> take;
  std::function<void(std::uint32_t first_shard)> reclaim;
};

/// Threads fetch what the GPUs have made, while some of them keep a GPU at work each.
class ShardDelivery {
 public:
  ShardDelivery(const Peers& peers, unsigned threads)
      : peers_(peers), threads_(threads), queue_(peers.size()) {}

  /// `CountingSession::finish`, when `make(number, outlets)` makes all shards of a GPU, which is current
  /// then.
  void run(unsigned thread, const engine::ShardSink& sink, const std::function<void()>& shard_done,
           const std::function<void(std::uint32_t number, const ChunkOutlets& outlets)>& make) {
    try {
      // Pinned memory, too, is of the device that is current.
      check(cudaSetDevice(peers_.gpu(thread % peers_.size())), "choosing a GPU");
      Courier courier(peers_);
      const auto deliver = [&](const ShardQueue::Item& item) {
        index::FrozenShard frozen = courier.fetch(item);
        queue_.fetched(item);
        sink(item.shard(), std::move(frozen));
        courier.reuse(std::move(frozen));
        shard_done();
      };
      for (std::uint32_t number = thread; number < peers_.size(); number += threads_) {
        const int gpu = peers_.gpu(number);
        check(cudaSetDevice(gpu), "choosing a GPU");
        // Who has to wait for room helps to deliver.
        make(number, {[&](FrozenChunk&& chunk) { queue_.put(std::move(chunk), number); },
                      [&](std::uint32_t first_shard) {
                        while (const auto item = queue_.try_take(first_shard)) deliver(*item);
                        check(cudaSetDevice(gpu), "choosing a GPU");
                        queue_.wait_for(first_shard);
                      }});
        queue_.close();
      }
      while (const auto item = queue_.take()) deliver(*item);
      const std::lock_guard lock(mutex_);
      seconds_ += courier.seconds();
      bytes_ += courier.bytes();
    } catch (...) {
      queue_.fail(std::current_exception());
      throw;
    }
  }

  /// Of all threads, waiting for the GPUs included.
  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  /// A thread's own way of fetching shards: "pin small, reuse".
  class Courier {
   public:
    explicit Courier(const Peers& peers) : peers_(peers), streams_(peers.size()) {}

    index::FrozenShard fetch(const ShardQueue::Item& item) {
      const ShardPlan& plan = item.plan();
      frozen_.shape = plan.shape;
      frozen_.payload.clear();
      if (plan.shape.entries > 0) {
        const auto start = std::chrono::steady_clock::now();
        check(cudaSetDevice(peers_.gpu(item.gpu)), "choosing a GPU");
        if (!streams_[item.gpu]) streams_[item.gpu].emplace();
        copy(item, *streams_[item.gpu]);
        bytes_ += frozen_.payload.size() * sizeof frozen_.payload[0];
        seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      }
      return std::move(frozen_);
    }
    /// Takes spent memory for the next shard.
    void reuse(index::FrozenShard&& spent) { frozen_ = std::move(spent); }

    [[nodiscard]] double seconds() const { return seconds_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

   private:
    static constexpr std::uint64_t kWords = std::uint64_t{1} << 17;

    void copy(const ShardQueue::Item& item, const Stream& stream) {
      const ShardPlan& plan = item.plan();
      frozen_.payload.reserve(plan.layout.words + index::kReadAheadWords);
      check(cudaStreamWaitEvent(DriverUse(stream), *item.chunk->ready), "ordering streams");
      for (std::uint64_t at = 0; at < plan.layout.words; at += kWords) {
        const std::uint64_t n = std::min<std::uint64_t>(kWords, plan.layout.words - at);
        copy_to_host(pinned_.data(), item.chunk->payload + plan.first_word + at, n, stream);
        stream.wait();
        frozen_.payload.insert(frozen_.payload.end(), pinned_.data(), pinned_.data() + n);
      }
    }

    const Peers& peers_;
    index::FrozenShard frozen_;
    double seconds_ = 0;
    std::uint64_t bytes_ = 0;
    std::vector<std::optional<Stream>> streams_;  ///< by GPU
    PinnedArray<unsigned long long> pinned_{kWords};
  };

  const Peers& peers_;
  const unsigned threads_;
  ShardQueue queue_;
  std::mutex mutex_;
  double seconds_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace warpmer::gpu
