#pragma once
/// Pinned host memory that the stages of a job use in turn: for text on its way in, and for shards on their
/// way out.

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "kernels/memory/pinned_pages.cuh"

namespace warpmer::gpu {

/// A stock of blocks, nearly all of one size. Pinning a block takes as long as copying it to a device many
/// times, so blocks of this size that are given back stay pinned, for the next thread, until the end.
/// Thread-safe.
class PinnedBlocks {
 public:
  static constexpr std::size_t kBytes = std::size_t{4} << 20;

  /// Returns a block of kBytes, or of more if more are wanted. A GPU must be current whose context may be
  /// begun. Throws a ResourceError when there is none to be had.
  [[nodiscard]] char* take(std::size_t bytes = kBytes);
  void give_back(char* memory) noexcept;

 private:
  std::mutex mutex_;
  std::map<const char*, PinnedPageArray<char>> all_;
  std::vector<char*> free_;
};

/// Holds a block while it lives.
class PinnedBlock {
 public:
  /// Throws a ResourceError when there is no block to be had.
  explicit PinnedBlock(PinnedBlocks& blocks) : blocks_(blocks), memory_(blocks.take()) {}
  ~PinnedBlock() { blocks_.give_back(memory_); }
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;

  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(memory_);
  }

 private:
  PinnedBlocks& blocks_;
  char* const memory_;
};

}  // namespace warpmer::gpu
