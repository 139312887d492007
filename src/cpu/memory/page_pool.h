#pragma once
/// Pages for pending super-k-mers: taken from the system in large regions, given back and reused.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "system/huge_pages.h"

namespace warpmer::cpu {

class PagePool {
 public:
  static constexpr std::size_t kPageBytes = 4096;

  /// `system_page_bytes`: what the system takes memory back in, a power of two.
  explicit PagePool(std::size_t system_page_bytes = system::page_bytes())
      : unit_pages_(system_page_bytes <= kPageBytes ? 1 : system_page_bytes / kPageBytes) {}
  ~PagePool();

  /// Puts at least one page, aligned to its size, contents undefined, into `pages`, and at most as many as it
  /// has room for; returns how many. Fresh ones are of one huge page. ResourceError when the system has no
  /// memory.
  std::size_t acquire(std::span<void*> pages);
  /// Returns one page.
  void* acquire() {
    void* page = nullptr;
    acquire({&page, 1});
    return page;
  }
  /// Gives back `pages` pages linked through their first word, from `first` to `last`.
  void release(void* first, void* last, std::size_t pages) noexcept;

  /// Returns free pages to the system until no more than `bytes` are resident, as far as pages are free:
  /// where the system's pages are larger than the pool's, all that lie in one of them.
  void shrink(std::uint64_t bytes);

  /// Returns the bytes of pages out of the pool.
  [[nodiscard]] std::uint64_t bytes_in_use() const noexcept {
    return in_use_.load(std::memory_order_relaxed) * kPageBytes;
  }
  /// Returns the bytes of pages that take memory, in use or free.
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
  void push_free(FreePage* page) noexcept {
    page->next = free_;
    free_ = page;
  }
  std::size_t put_whole_units_first();
  /// Returns the number of free pages that take memory.
  [[nodiscard]] std::uint64_t free_pages() const noexcept { return resident_ - in_use_; }

  const std::size_t unit_pages_;  ///< the system takes back so many at once

  std::mutex mutex_;
  FreePage* free_ = nullptr;
  std::uint64_t left_free_ = 0;  ///< free pages, none of which `shrink` could give back
  char* next_ = nullptr;         ///< untouched pages of the newest block
  char* end_ = nullptr;
  std::vector<char*> blocks_;
  std::size_t without_huge_pages_ = 0;  ///< number of blocks, the first ones, that get none
  std::vector<void*> returned_;         ///< free pages that take no memory
  std::atomic<std::uint64_t> in_use_{0};
  std::atomic<std::uint64_t> resident_{0};
};

/// Pages in one thread's hands. They are taken from the pool, and touched for the first time, many at once
/// and before anyone else can be waiting for the thread: what a page fault on a huge page takes, the others
/// would spin for. And of a huge page that two threads touch at the same time, the system clears two.
class PageStock {
 public:
  /// Holds up to `most` pages; a huge page at a time if that is what they make.
  PageStock(PagePool& pool, std::size_t most) : pool_(pool), pages_(most) {}

  /// Sees to it that `pages` pages are here.
  void provide(std::size_t pages) {
    if (size_ < pages) fill(pages);
  }
  /// Returns one of those provided.
  void* take() { return pages_[--size_]; }
  /// Returns the number of pages here; the pool takes them for pages in use.
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  void fill(std::size_t pages);

  PagePool& pool_;
  std::vector<void*> pages_;
  std::size_t size_ = 0;
};

}  // namespace warpmer::cpu
