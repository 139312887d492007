#pragma once
/// Delivers frozen shards from the GPUs to the sink that writes them.

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "kernels/exchange/peers.cuh"
#include "kernels/session/shard_downloader.cuh"
#include "kernels/session/shard_queue.cuh"

namespace warpmer::gpu {

/// The callbacks that take a GPU's chunks, as DeviceCounter::finish has them.
struct ChunkOutlets {
  std::function<void(FrozenChunk&&)> take;
  std::function<void(std::uint32_t first_shard)> reclaim;
};

/// Threads fetch the shards that the GPUs have made, while some of these threads each keep a GPU at work.
class ShardDelivery {
 public:
  ShardDelivery(const Peers& peers, unsigned threads)
      : peers_(peers), threads_(threads), queue_(peers.size()), download_streams_(peers) {}

  /// Does the work of `CountingSession::finish`; `make(number, outlets)` makes all shards of a GPU, which is
  /// current then.
  void run(unsigned thread, const backend::ShardSink& sink, const std::function<void()>& shard_done,
           const std::function<void(std::uint32_t number, const ChunkOutlets& outlets)>& make) {
    try {
      // Pinned memory, too, belongs to the current device.
      check(cudaSetDevice(peers_.gpu(thread % peers_.size())), "choosing a GPU");
      ShardDownloader downloader(peers_, shared_download_streams_);
      const auto deliver = [&] {
        const ShardQueue::QueuedShard item = downloader.next();
        // A shard that cannot go to its place at once does not keep the GPU waiting.
        const bool has_offset = sink.places() != nullptr && sink.places()->has_offset(item.shard());
        index::FrozenShard frozen =
            has_offset ? downloader.as_source() : downloader.in_memory(sink.take_payload());
        if (!has_offset) queue_.fetched(item);
        sink(item.shard(), std::move(frozen));
        downloader.complete();
        if (has_offset) queue_.fetched(item);
        shard_done();
      };
      const auto put = [&](FrozenChunk&& chunk, std::uint32_t number) {
        if (sink.places() != nullptr) announce(chunk, *sink.places());
        queue_.put(std::move(chunk), number);
      };
      // Delivers the shards of the chunks up to the one that begins with `last_chunk`; one of them is on its
      // way while the one before is delivered.
      const auto deliver_all = [&](std::optional<ShardQueue::QueuedShard>&& first, std::uint32_t last_chunk) {
        if (first) downloader.begin(*std::move(first));
        while (downloader.under_way() > 0) {
          if (auto next = queue_.try_take_after(downloader.last_shard(), last_chunk))
            downloader.begin(*std::move(next));
          deliver();
        }
      };
      for (std::uint32_t number = thread; number < peers_.size(); number += threads_) {
        const int gpu = peers_.gpu(number);
        check(cudaSetDevice(gpu), "choosing a GPU");
        // A thread that has to wait for room helps to deliver.
        make(number, {[&](FrozenChunk&& chunk) { put(std::move(chunk), number); },
                      [&](std::uint32_t first_shard) {
                        while (auto item = queue_.try_take(first_shard))
                          deliver_all(std::move(item), first_shard);
                        check(cudaSetDevice(gpu), "choosing a GPU");
                        queue_.wait_for(first_shard);
                      }});
        queue_.close();
      }
      while (auto item = queue_.take()) deliver_all(std::move(item), UINT32_MAX);
      const std::lock_guard lock(mutex_);
      seconds_ += downloader.seconds();
      bytes_ += downloader.bytes();
    } catch (...) {
      queue_.fail(std::current_exception());
      throw;
    }
  }

  /// Returns the seconds of all threads, waiting for the GPUs included.
  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  static void announce(const FrozenChunk& chunk, index::ReservedOffsets& places) {
    std::vector<groups::ShardSizes> sizes;
    for (const StringPlan& plan : chunk.strings) sizes.push_back(plan.sizes);
    places.announce(chunk.first_shard, sizes);
  }

  const Peers& peers_;
  const unsigned threads_;
  ShardQueue queue_;
  DownloadStreams download_streams_;
  DownloadStreamQueue shared_download_streams_{download_streams_};
  std::mutex mutex_;
  double seconds_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace warpmer::gpu
