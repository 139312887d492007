#pragma once
/// A ring of device memory for frozen chunks on their way out, one behind the other.

#include <cstdint>
#include <deque>

#include "kernels/freeze/frozen_chunk.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/ring_places.cuh"

namespace warpmer::gpu {

/// Not thread-safe. Chunks are given back in the order in which they came.
class PayloadRing {
 public:
  /// A chunk's memory, and the event that marks its end of writing; both are there until the chunk is given
  /// back.
  struct Room {
    unsigned long long* words;
    Event* ready;
  };
  /// The words behind a payload's end that a read of its last fields may touch.
  static constexpr std::uint64_t kSpareWords = 4;

  /// Returns room for `words` words of the chunk that begins with `first_shard`: the room of the earliest
  /// chunks, once `chunks` no longer needs them. If the whole ring is smaller, it grows to this size, or to
  /// `wanted_words`.
  Room take(std::uint32_t first_shard, std::uint64_t words, std::uint64_t wanted_words, ChunkSink& chunks);

 private:
  struct PayloadChunk {
    std::uint32_t first_shard;
    Event ready;
  };

  void give_back(ChunkSink& chunks);

  DeviceArray<unsigned long long> memory_;
  RingPlaces places_{0};
  std::deque<PayloadChunk> chunks_;  ///< one for each place
};

}  // namespace warpmer::gpu
