#pragma once
/// A ring of device memory for frozen chunks on their way out, one behind the other.

#include <cstdint>
#include <deque>
#include <functional>

#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/ring_places.cuh"

namespace warpmer::gpu {

/// Not thread-safe. Chunks are given back in the order in which they came.
class PayloadRing {
 public:
  using Reclaim = std::function<void(std::uint32_t first_shard)>;

  /// A chunk's memory, and the event that marks its end of writing; both are there until the chunk is given
  /// back.
  struct Room {
    unsigned long long* words;
    Event* ready;
  };

  /// Returns room for `words` words of the chunk that begins with `first_shard`: the room of the earliest
  /// chunks, once `reclaim` of them has returned. If the whole ring is smaller, it grows to this size, or to
  /// `wanted_words`.
  Room take(std::uint32_t first_shard, std::uint64_t words, std::uint64_t wanted_words,
            const Reclaim& reclaim);

 private:
  struct PayloadChunk {
    std::uint32_t first_shard;
    Event ready;
  };

  void give_back(const Reclaim& reclaim);

  DeviceArray<unsigned long long> memory_;
  RingPlaces places_{0};
  std::deque<PayloadChunk> chunks_;  ///< one for each place
};

}  // namespace warpmer::gpu
