#pragma once
/// The ways of frozen shards out of the GPUs.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/flat_combining.h"
#include "kernels/exchange/peers.cuh"
#include "kernels/memory/host_fence.cuh"
#include "kernels/session/shard_queue.cuh"

namespace warpmer::gpu {

/// A stream of each GPU, for all who fetch from it, so that shards leave in the order in which they were sent
/// for. (With a stream for each of them, or with three, some wait longer than others, and so does, in memory,
/// what comes behind theirs.) For one thread at a time: were all to tell the driver themselves, those who
/// start kernels, too, would wait for its lock, ten times as long as a call takes.
class WaysOut {
 public:
  explicit WaysOut(const Peers& peers) : peers_(peers), ways_(peers.size()) {}

  /// Enqueues the copy of some words of a shard's payload. Changes the current device.
  void send(const ShardQueue::Item& item, std::uint64_t first_word, std::uint64_t words,
            unsigned long long* to, HostFence& copied) {
    check(cudaSetDevice(peers_.gpu(item.gpu)), "choosing a GPU");
    Way& way = ways_[item.gpu];
    if (!way.stream) way.stream = std::make_unique<Stream>();
    const cudaStream_t stream = *way.stream;
    if (way.chunk != item.chunk) item.chunk->ready->let_follow(stream);
    way.chunk = item.chunk;
    copy_to_host(to, item.chunk->payload + item.plan().first_word + first_word, words, stream);
    copied.record(stream);
  }
  /// After an error.
  void let_copies_end() noexcept {
    for (const Way& way : ways_) {
      if (way.stream) cudaStreamSynchronize(*way.stream);
    }
  }

 private:
  struct Way {
    std::unique_ptr<Stream> stream;            ///< made when it is needed
    std::shared_ptr<const FrozenChunk> chunk;  ///< the one that it has waited for last
  };

  const Peers& peers_;
  std::vector<Way> ways_;  ///< by GPU
};

using SharedWaysOut = FlatCombining<WaysOut>;

}  // namespace warpmer::gpu
