#pragma once
/// Pages for pending super-k-mers: taken from the system in large regions, given back and reused.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace warpmer::cpu {

class PagePool {
 public:
  static constexpr std::size_t kPageBytes = 4096;

  PagePool() = default;
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  /// A page, aligned to its size, contents undefined. ResourceError when the system has no memory.
  void* acquire();
  /// Gives back `pages` pages linked through their first word, from `first` to `last`.
  void release(void* first, void* last, std::size_t pages) noexcept;

  /// Returns free pages to the system until no more than `bytes` are resident, as far as pages are free.
  void shrink(std::uint64_t bytes);

  /// Pages out of the pool.
  [[nodiscard]] std::uint64_t bytes_in_use() const noexcept {
    return in_use_.load(std::memory_order_relaxed) * kPageBytes;
  }
  /// Pages that take memory, in use or free.
  [[nodiscard]] std::uint64_t bytes_resident() const noexcept {
    return resident_.load(std::memory_order_relaxed) * kPageBytes;
  }

 private:
  /// Address space is reserved in blocks; memory comes as it is touched, a huge page at a time where
  /// the system has them.
  static constexpr std::size_t kBlockBytes = std::size_t{64} << 20;
  struct FreePage {
    FreePage* next;
  };

  void add_block();

  std::mutex mutex_;
  FreePage* free_ = nullptr;
  char* next_ = nullptr;  ///< untouched pages of the newest block
  char* end_ = nullptr;
  std::vector<char*> blocks_;
  std::vector<void*> returned_;  ///< free pages that take no memory
  std::atomic<std::uint64_t> in_use_{0};
  std::atomic<std::uint64_t> resident_{0};
};

}  // namespace warpmer::cpu
