#include <utility>

#include "pinned_blocks.cuh"

namespace warpmer::gpu {

char* PinnedBlocks::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      char* const memory = free_.back();
      free_.pop_back();
      return memory;
    }
  }
  PinnedPageArray<char> block(kBytes);
  char* const memory = block.data();
  const std::lock_guard lock(mutex_);
  all_.emplace(memory, std::move(block));
  free_.reserve(all_.size());  // giving back needs no memory then
  return memory;
}

bool PinnedBlocks::give_back(char* memory) noexcept {
  const std::lock_guard lock(mutex_);
  if (all_.count(memory) == 0) return false;
  free_.push_back(memory);
  return true;
}

}  // namespace warpmer::gpu
