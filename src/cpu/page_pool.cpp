#include "cpu/page_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/error.h"
#include "core/huge_pages.h"

namespace warpmer::cpu {

PagePool::~PagePool() {
  for (char* block : blocks_) unmap_huge_pages(block, kBlockBytes);
}

void PagePool::add_block() {
  char* const block = map_huge_pages(kBlockBytes);
  if (block == nullptr) {
    throw ResourceError("the system has no memory for pending k-mers (" + std::string(std::strerror(errno)) +
                        "); lower -m or free memory");
  }
  blocks_.push_back(block);
  next_ = block;
  end_ = next_ + kBlockBytes;
}

std::size_t PagePool::acquire(std::span<void*> pages) {
  const std::lock_guard lock(mutex_);
  std::size_t n = 0;
  for (; n < pages.size() && free_ != nullptr; ++n) {
    pages[n] = free_;
    free_ = free_->next;
  }
  in_use_.fetch_add(n, std::memory_order_relaxed);
  if (n > 0) return n;
  if (!returned_.empty()) {
    for (; n < pages.size() && !returned_.empty(); ++n) {
      pages[n] = returned_.back();
      returned_.pop_back();
    }
  } else {
    if (next_ == end_) add_block();
    const std::size_t in_huge_page =
        (kHugePageBytes - reinterpret_cast<std::uintptr_t>(next_) % kHugePageBytes) / kPageBytes;
    for (; n < std::min(pages.size(), in_huge_page); ++n, next_ += kPageBytes) pages[n] = next_;
  }
  in_use_.fetch_add(n, std::memory_order_relaxed);
  resident_.fetch_add(n, std::memory_order_relaxed);
  return n;
}

void PagePool::release(void* first, void* last, std::size_t pages) noexcept {
  const std::lock_guard lock(mutex_);
  static_cast<FreePage*>(last)->next = free_;
  free_ = static_cast<FreePage*>(first);
  in_use_.fetch_sub(pages, std::memory_order_relaxed);
}

void PagePool::shrink(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes_resident() <= bytes) return;
  // The kernel would fill the gaps again, to make huge pages of what is left.
  for (; without_huge_pages_ < blocks_.size(); ++without_huge_pages_)
    madvise(blocks_[without_huge_pages_], kBlockBytes, MADV_NOHUGEPAGE);
  while (free_ != nullptr && bytes_resident() > bytes) {
    FreePage* page = free_;
    free_ = page->next;
    madvise(page, kPageBytes, MADV_DONTNEED);
    returned_.push_back(page);
    resident_.fetch_sub(1, std::memory_order_relaxed);
  }
}

void PageStock::fill(std::size_t pages) {
  if (pages_.size() < pages) pages_.resize(pages);
  while (size_ < pages) {
    const std::size_t n = pool_.acquire({pages_.data() + size_, pages_.size() - size_});
    for (std::size_t i = size_; i < size_ + n; ++i) *static_cast<volatile char*>(pages_[i]) = 0;
    size_ += n;
  }
}

}  // namespace warpmer::cpu
