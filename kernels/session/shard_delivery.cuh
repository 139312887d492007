#pragma once
/// Delivers frozen shards from the GPUs to the sink that writes them.

#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/thread_team.h"
#include "groups/shard_layout.h"
#include "index/writer/reserved_offsets.h"
#include "kernels/exchange/peers.cuh"
#include "kernels/freeze/frozen_chunk.cuh"
#include "kernels/session/shard_downloader.cuh"
#include "kernels/session/shard_queue.cuh"

namespace warpmer::gpu {

/// A thread for each GPU makes its shards and puts them into a queue; the session's threads take them out of
/// it and fetch them.
class ShardDelivery {
 public:
  ShardDelivery(const Peers& peers, unsigned threads)
      : peers_(peers), threads_(threads), queue_(peers.size()), download_streams_(peers) {}

  /// Does the work of `CountingSession::finish`; `make(number, chunks)` makes all shards of a GPU, which is
  /// current then, and puts them into a ChunkSink.
  template <class Make>
  void run(unsigned thread, const backend::ShardSink& sink, const std::function<void()>& shard_done,
           const Make& make) {
    // A GPU's thread sleeps most of the time, so it is one more.
    run_team(
        thread < peers_.size() ? 2 : 1,
        [&](unsigned part) {
          if (part == 0) {
            deliver(thread, sink, shard_done);
          } else {
            make_shards(thread, sink.places(), make);
          }
        },
        [&] { queue_.fail(std::current_exception()); });
  }

  /// Returns the seconds of all threads, waiting for the GPUs included.
  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  /// The way of a GPU's chunks into the queue.
  class QueuedChunks : public ChunkSink {
   public:
    QueuedChunks(ShardQueue& queue, std::uint32_t gpu, index::ReservedOffsets* places)
        : queue_(queue), gpu_(gpu), places_(places) {}

    void put(FrozenChunk&& chunk) override {
      if (places_ != nullptr) announce(chunk);
      queue_.put(std::move(chunk), gpu_);
    }
    void wait_for(std::uint32_t first_shard) override { queue_.wait_for(first_shard); }

   private:
    void announce(const FrozenChunk& chunk) {
      std::vector<groups::ShardSizes> sizes;
      for (const StringPlan& plan : chunk.strings) sizes.push_back(plan.sizes);
      places_->announce(chunk.first_shard, sizes);
    }

    ShardQueue& queue_;
    const std::uint32_t gpu_;
    index::ReservedOffsets* const places_;
  };

  /// Makes the shards of one GPU, and of others where there are more than threads.
  template <class Make>
  void make_shards(unsigned thread, index::ReservedOffsets* places, const Make& make) {
    for (std::uint32_t number = thread; number < peers_.size(); number += threads_) {
      check(cudaSetDevice(peers_.gpu(number)), "choosing a GPU");
      QueuedChunks chunks(queue_, number, places);
      make(number, chunks);
      queue_.close(number);
    }
  }

  void deliver(unsigned thread, const backend::ShardSink& sink, const std::function<void()>& shard_done) {
    // Pinned memory, too, belongs to the current device.
    check(cudaSetDevice(peers_.gpu(thread % peers_.size())), "choosing a GPU");
    ShardDownloader downloader(peers_, shared_download_streams_);
    const bool strictly = thread == 0;
    while (auto item = queue_.take(strictly)) {
      downloader.begin(*std::move(item));
      while (downloader.under_way() > 0) {
        // One is on its way while the one before is delivered.
        if (auto next = queue_.try_take_after(downloader.last_shard(), strictly))
          downloader.begin(*std::move(next));
        deliver_next(downloader, sink);
        shard_done();
      }
    }
    const std::lock_guard lock(mutex_);
    seconds_ += downloader.seconds();
    bytes_ += downloader.bytes();
  }

  void deliver_next(ShardDownloader& downloader, const backend::ShardSink& sink) {
    const ShardQueue::QueuedShard item = downloader.next();
    // A shard that cannot go to its place at once does not keep the GPU waiting.
    const bool has_offset = sink.places() != nullptr && sink.places()->has_offset(item.shard());
    index::FrozenShard frozen =
        has_offset ? downloader.as_source() : downloader.in_memory(sink.take_payload());
    if (!has_offset) queue_.fetched(item);
    sink(item.shard(), std::move(frozen));
    downloader.complete();
    if (has_offset) queue_.fetched(item);
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
