#pragma once
/// The download streams, by which frozen shards leave the GPUs.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/flat_combining.h"
#include "kernels/exchange/peers.cuh"
#include "kernels/memory/host_fence.cuh"
#include "kernels/session/shard_queue.cuh"

namespace warpmer::gpu {

/// One stream of each GPU, for all threads that fetch from it, so that shards leave in the order in which
/// they were requested. (With a stream for each thread, or with three, some threads wait longer than others,
/// and the shards behind theirs wait in memory.) One thread at a time uses it: if all threads called the
/// driver, those that start kernels would also wait for its lock, ten times as long as a call takes.
class DownloadStreams {
 public:
  explicit DownloadStreams(const Peers& peers) : peers_(peers), streams_(peers.size()) {}

  /// Enqueues the copy of some words of a shard's payload. Changes the current device.
  void send(const ShardQueue::QueuedShard& item, std::uint64_t first_word, std::uint64_t words,
            unsigned long long* to, HostFence& copied) {
    check(cudaSetDevice(peers_.gpu(item.gpu)), "choosing a GPU");
    DownloadStream& one = streams_[item.gpu];
    if (!one.stream) one.stream = std::make_unique<Stream>();
    const cudaStream_t stream = *one.stream;
    if (one.chunk != item.chunk) item.chunk->ready->let_follow(stream);
    one.chunk = item.chunk;
    copy_to_host(to, item.chunk->payload + item.first_word() + first_word, words, stream);
    copied.record(stream);
  }
  /// Waits, after an error, until no copy is under way.
  void let_copies_end() noexcept {
    for (const DownloadStream& one : streams_) {
      if (one.stream) cudaStreamSynchronize(*one.stream);
    }
  }

 private:
  struct DownloadStream {
    std::unique_ptr<Stream> stream;            ///< made when it is needed
    std::shared_ptr<const FrozenChunk> chunk;  ///< chunk that it has waited for last
  };

  const Peers& peers_;
  std::vector<DownloadStream> streams_;  ///< by GPU
};

using DownloadStreamQueue = FlatCombining<DownloadStreams>;

}  // namespace warpmer::gpu
