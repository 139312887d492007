#pragma once
/// Pinned host memory that one stage of a job after the other uses: text on its way in, shards on theirs out.

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "kernels/memory/pinned_pages.cuh"

namespace warpmer::gpu {

/// Blocks, nearly all of one size. To pin one takes as long as to copy it to a device many times, so blocks
/// of this size that are given back stay pinned, for whoever is next, until the end. Thread-safe.
class PinnedBlocks {
 public:
  static constexpr std::size_t kBytes = std::size_t{4} << 20;

  /// A block of kBytes, or of more if so many are wanted, with a GPU current whose context may be begun.
  /// ResourceError when there is none to be had.
  [[nodiscard]] char* take(std::size_t bytes = kBytes);
  void give_back(char* memory) noexcept;

 private:
  std::mutex mutex_;
  std::map<const char*, PinnedPageArray<char>> all_;
  std::vector<char*> free_;
};

/// A block, for as long as this lives.
class PinnedBlock {
 public:
  /// ResourceError when there is none to be had.
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
