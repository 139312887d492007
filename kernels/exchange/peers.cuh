#pragma once
/// The GPUs of one process, and copies between them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/memory/current_device.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/pinned_blocks.cuh"

namespace warpmer::gpu {

/// The GPUs of a job, by number: 0 to size() - 1. One GPU may have several numbers, which is for tests.
class Peers {
 public:
  /// Gives every GPU access to the memory of the others, if the machine can do that. With `through_host`,
  /// copies go as if it could not.
  explicit Peers(std::vector<int> gpus, bool through_host = false);
  /// Gives back what the pools of the GPUs keep, so that a program of which this was a part can use it.
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(gpus_.size()); }
  [[nodiscard]] int gpu(std::uint32_t number) const { return gpus_[number]; }
  [[nodiscard]] const std::vector<int>& gpus() const { return gpus_; }
  /// True when GPU `from` reaches the memory of GPU `to` without the host.
  [[nodiscard]] bool reaches(std::uint32_t from, std::uint32_t to) const {
    return relays_[from * size() + to] == nullptr;
  }

  /// Returns the pinned host memory for data that comes to the GPUs and leaves them.
  [[nodiscard]] PinnedBlocks& pinned_blocks() const { return pinned_blocks_; }

  /// Enqueues a copy in a stream of the sender. If the sender does not reach the receiver, the bytes go
  /// through pinned host memory.
  void copy(void* to, std::uint32_t receiver, const void* from, std::uint32_t sender, std::size_t bytes,
            cudaStream_t stream);

 private:
  /// The way of bytes between two GPUs that do not reach each other: they go piece after piece into pinned
  /// memory, and out of it in a stream of the receiver. A piece comes while the one before leaves.
  struct Relay {
    static constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
    Relay(int sender, int receiver);
    void copy(char* to, const char* from, std::size_t bytes, cudaStream_t stream);

    PinnedArray<char> memory;   ///< of two pieces; made with the sender current
    std::optional<Event> left;  ///< so, too
    std::optional<Stream> arrivals;
    std::optional<Event> arrived[2];  ///< the last piece in each place
    std::uint32_t turn = 0;           ///< the place of the next piece
  };

  std::vector<int> gpus_;
  mutable PinnedBlocks pinned_blocks_;
  std::vector<std::unique_ptr<Relay>>
      relays_;  ///< by sender and receiver; null if the sender reaches the receiver
};

}  // namespace warpmer::gpu
