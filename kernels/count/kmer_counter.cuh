#pragma once
/// What every counter on a GPU does with text.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/text/cut.cuh"

namespace warpmer::gpu {

/// Takes the k-mers of text on the device. Not thread-safe: one thread at a time. All work is ordered in
/// one stream; the device is current.
class TextCounter {
 public:
  virtual ~TextCounter() = default;

  [[nodiscard]] virtual cudaStream_t stream() const = 0;

  /// Enqueues the count of a text (see launch_cut).
  virtual void add(const char* text, std::uint32_t bytes, const std::uint32_t* tiles,
                   std::uint32_t tile_count, std::uint32_t* left, CutStatus* status) = 0;
  /// Makes room for more, for tiles that were left, unless somebody has done so already. May wait for the
  /// device.
  virtual void make_room() = 0;
  /// Whether so many words in the fullest region (CutStatus) mean that it is time for that.
  [[nodiscard]] virtual bool wants_room(std::uint32_t fullest) const = 0;
};

}  // namespace warpmer::gpu
