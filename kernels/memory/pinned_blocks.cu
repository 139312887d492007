#include <algorithm>
#include <utility>

#include "kernels/memory/pinned_blocks.cuh"

namespace warpmer::gpu {

char* PinnedBlocks::take(std::size_t bytes) {
  if (bytes <= kBytes) {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      char* const memory = free_.back();
      free_.pop_back();
      return memory;
    }
  }
  PinnedPageArray<char> block(std::max(bytes, kBytes));
  char* const memory = block.data();
  const std::lock_guard lock(mutex_);
  all_.emplace(memory, std::move(block));
  free_.reserve(all_.size());  // giving back needs no memory then
  return memory;
}

void PinnedBlocks::give_back(char* memory) noexcept {
  PinnedPageArray<char> larger;  // is unpinned while no thread waits for the lock
  const std::lock_guard lock(mutex_);
  const auto block = all_.find(memory);
  if (block->second.size() > kBytes) {
    larger = std::move(block->second);
    all_.erase(block);
  } else {
    free_.push_back(memory);
  }
}

}  // namespace warpmer::gpu
