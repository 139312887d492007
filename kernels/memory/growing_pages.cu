#include <utility>

#include "kernels/memory/growing_pages.cuh"
#include "kernels/memory/pinned_pages.cuh"
#include "system/huge_pages.h"

namespace warpmer::gpu {

GrowingPages::GrowingPages(std::size_t most_bytes) : most_bytes_(system::whole_huge_pages(most_bytes)) {
  data_ = reinterpret_cast<std::byte*>(system::map_huge_pages(most_bytes_));
  if (data_ == nullptr) detail::throw_no_pages(most_bytes_);
}

GrowingPages::~GrowingPages() {
  while (!ends_.empty()) unpin_last();
  if (data_ != nullptr) system::unmap_huge_pages(data_, most_bytes_);
}

void GrowingPages::swap(GrowingPages& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(most_bytes_, other.most_bytes_);
  std::swap(ends_, other.ends_);
}

void GrowingPages::resize(std::size_t bytes, unsigned threads) {
  const std::size_t end = system::whole_huge_pages(bytes);
  if (end > this->bytes()) {
    grow(end, threads);
  } else {
    shrink(end);
  }
}

/// Whole pieces only: what is pinned may be as much larger.
void GrowingPages::shrink(std::size_t end) noexcept {
  const std::size_t before = bytes();
  while (ends_.size() > 1 && ends_[ends_.size() - 2] >= end) unpin_last();
  if (end == 0 && !ends_.empty()) unpin_last();
  if (before > bytes()) system::give_back_pages(data_ + bytes(), before - bytes());
}

void GrowingPages::grow(std::size_t end, unsigned threads) {
  const std::size_t before = bytes();
  try {
    detail::touch_pages(data_ + before, end - before, threads);
    while (bytes() < end) pin(std::min(end, bytes() + kPieceBytes));
  } catch (...) {
    while (bytes() > before) unpin_last();
    system::give_back_pages(data_ + before, end - before);
    throw;
  }
}

void GrowingPages::pin(std::size_t end) {
  ends_.reserve(ends_.size() + 1);
  detail::register_pages(data_ + bytes(), end - bytes());
  ends_.push_back(end);
}

void GrowingPages::unpin_last() noexcept {
  ends_.pop_back();
  const DriverLock::Shared use;
  cudaHostUnregister(data_ + bytes());
}

}  // namespace warpmer::gpu
