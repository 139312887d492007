#include "cpu/memory/page_pool.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/error.h"
#include "system/huge_pages.h"

namespace warpmer::cpu {

PagePool::~PagePool() {
  for (char* block : blocks_) system::unmap_huge_pages(block, kBlockBytes);
}

void PagePool::add_block() {
  char* const block = system::map_huge_pages(kBlockBytes);
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
        (system::kHugePageBytes - reinterpret_cast<std::uintptr_t>(next_) % system::kHugePageBytes) /
        kPageBytes;
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
    system::avoid_huge_pages(blocks_[without_huge_pages_], kBlockBytes);
  std::size_t units = SIZE_MAX;
  if (unit_pages_ > 1) {
    // To look for whole units takes time, which is spent again when there are clearly more free pages than
    // the last time no such unit was left.
    left_free_ = std::min(left_free_, free_pages());
    if (free_pages() < left_free_ + left_free_ / 8 + unit_pages_) return;
    units = put_whole_units_first();
  }
  for (; units > 0 && free_ != nullptr && bytes_resident() > bytes; --units) {
    FreePage* const unit = free_;
    for (std::size_t i = 0; i < unit_pages_; ++i, free_ = free_->next) returned_.push_back(free_);
    system::give_back_pages(unit, unit_pages_ * kPageBytes);
    resident_.fetch_sub(unit_pages_, std::memory_order_relaxed);
  }
  left_free_ = units == 0 ? free_pages() : 0;
}

/// Free pages that are all of a unit come first, in order of their addresses. Returns how many such units
/// there are.
std::size_t PagePool::put_whole_units_first() {
  std::vector<FreePage*> pages;
  for (; free_ != nullptr; free_ = free_->next) pages.push_back(free_);
  std::sort(pages.begin(), pages.end());
  const auto unit_of = [&](FreePage* page) {
    return reinterpret_cast<std::uintptr_t>(page) / (unit_pages_ * kPageBytes);
  };
  std::vector<FreePage*> whole;
  for (auto begin = pages.begin(); begin != pages.end();) {
    const auto end =
        std::find_if(begin, pages.end(), [&](FreePage* page) { return unit_of(page) != unit_of(*begin); });
    if (static_cast<std::size_t>(end - begin) == unit_pages_) {
      whole.insert(whole.end(), begin, end);
    } else {
      for (auto page = begin; page != end; ++page) push_free(*page);
    }
    begin = end;
  }
  std::for_each(whole.rbegin(), whole.rend(), [&](FreePage* page) { push_free(page); });
  return whole.size() / unit_pages_;
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
