#pragma once
/// Text buffers in pinned memory, so that a device copies from where the text was read to.

#include "io/text/batch.h"
#include "kernels/memory/current_device.cuh"
#include "kernels/memory/pinned_blocks.cuh"

namespace warpmer::gpu {

class PinnedText : public io::TextMemory {
 public:
  /// `blocks` outlive this; `gpu` is one that may be used for pinning.
  PinnedText(PinnedBlocks& blocks, int gpu) : blocks_(blocks), gpu_(gpu) {}

  [[nodiscard]] char* allocate(std::size_t bytes) const override {
    // Were the GPU not named, the first one would get a context.
    {
      const DriverLock::Shared use;
      check(cudaSetDevice(gpu_), "choosing a GPU");
    }
    return blocks_.take(bytes);
  }
  void release(char* memory) const noexcept override {
    if (memory != nullptr) blocks_.give_back(memory);
  }

 private:
  PinnedBlocks& blocks_;
  int gpu_;
};

}  // namespace warpmer::gpu
