#include "cpu/page_pool.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "core/error.h"

namespace warpmer::cpu {

PagePool::~PagePool() {
  for (char* block : blocks_) munmap(block, kBlockBytes);
}

void PagePool::add_block() {
  void* block =
      mmap(nullptr, kBlockBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) {
    throw ResourceError("the system has no memory for pending k-mers (" + std::string(std::strerror(errno)) +
                        "); lower -m or free memory");
  }
  madvise(block, kBlockBytes, MADV_HUGEPAGE);  // fewer page faults; only a hint
  blocks_.push_back(static_cast<char*>(block));
  next_ = static_cast<char*>(block);
  end_ = next_ + kBlockBytes;
}

void* PagePool::acquire() {
  const std::lock_guard lock(mutex_);
  in_use_.fetch_add(1, std::memory_order_relaxed);
  if (free_ != nullptr) {
    FreePage* page = free_;
    free_ = page->next;
    return page;
  }
  resident_.fetch_add(1, std::memory_order_relaxed);
  if (!returned_.empty()) {
    void* page = returned_.back();
    returned_.pop_back();
    return page;
  }
  if (next_ == end_) add_block();
  void* page = next_;
  next_ += kPageBytes;
  return page;
}

void PagePool::release(void* first, void* last, std::size_t pages) noexcept {
  const std::lock_guard lock(mutex_);
  static_cast<FreePage*>(last)->next = free_;
  free_ = static_cast<FreePage*>(first);
  in_use_.fetch_sub(pages, std::memory_order_relaxed);
}

void PagePool::shrink(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  while (free_ != nullptr && bytes_resident() > bytes) {
    FreePage* page = free_;
    free_ = page->next;
    madvise(page, kPageBytes, MADV_DONTNEED);
    returned_.push_back(page);
    resident_.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace warpmer::cpu
