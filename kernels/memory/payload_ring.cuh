#pragma once
/// Device memory for what has been frozen and is on its way out: chunk behind chunk, round and round.

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

  /// A chunk's memory, and the mark that is to say when it is written; both are there until it is given back.
  struct Room {
    unsigned long long* words;
    Event* ready;
  };

  /// Room for `words` of the chunk that begins with `first_shard`: that of the earliest ones, once `reclaim`
  /// of them has returned. Where there is less in all, it becomes as much as this, or `wanted_words`.
  Room take(std::uint32_t first_shard, std::uint64_t words, std::uint64_t wanted_words,
            const Reclaim& reclaim);

 private:
  struct Chunk {
    std::uint32_t first_shard;
    Event ready;
  };

  void give_back(const Reclaim& reclaim);

  DeviceArray<unsigned long long> memory_;
  RingPlaces places_{0};
  std::deque<Chunk> chunks_;  ///< one for each place
};

}  // namespace warpmer::gpu
