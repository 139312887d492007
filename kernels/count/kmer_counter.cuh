#pragma once
/// The interface of every counter on a GPU.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/text/cut.cuh"

namespace warpmer::gpu {

/// Counts the k-mers of text on the device. It is not thread-safe: one thread at a time may use it. All work
/// is ordered in one stream; the device is current.
class KmerCounter {
 public:
  virtual ~KmerCounter() = default;

  [[nodiscard]] virtual cudaStream_t stream() const = 0;

  /// Enqueues the count of a text (see launch_cut).
  virtual void add(const char* text, std::uint32_t bytes, const std::uint32_t* tiles,
                   std::uint32_t tile_count, std::uint32_t* left, CutStatus* status) = 0;
  /// Makes room for tiles that were left, unless another thread has done so already. May wait for the device.
  virtual void make_room() = 0;
  /// True when so many words in the fullest region (CutStatus) mean that it is time to make room.
  [[nodiscard]] virtual bool wants_room(std::uint32_t fullest) const = 0;
};

}  // namespace warpmer::gpu
